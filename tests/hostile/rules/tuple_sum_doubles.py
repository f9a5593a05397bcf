# about: the same by addition
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    t0 = (1.0, 1.0)
    t1 = t0 + t0
    t2 = t1 + t1
    t3 = t2 + t2
    t4 = t3 + t3
    t5 = t4 + t4
    t6 = t5 + t5
    t7 = t6 + t6
    t8 = t7 + t7
    t9 = t8 + t8
    t10 = t9 + t9
    t11 = t10 + t10
    t12 = t11 + t11
    t13 = t12 + t12
    t14 = t13 + t13
    t15 = t14 + t14
    t16 = t15 + t15
    t17 = t16 + t16
    t18 = t17 + t17
    t19 = t18 + t18
    t20 = t19 + t19
    t21 = t20 + t20
    t22 = t21 + t21
    t23 = t22 + t22
    t24 = t23 + t23
    t25 = t24 + t24
    t26 = t25 + t25
    t27 = t26 + t26
    t28 = t27 + t27
    t29 = t28 + t28
    t30 = t29 + t29
    return 1.0
