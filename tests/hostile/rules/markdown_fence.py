# about: the fence came along
# expect: rejected/syntax
```python
def candidate_variable_score(variable_features):
    return 1.0
```
