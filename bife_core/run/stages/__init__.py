"""The stages of a run as plain functions: configuration and `Runtime` in, a value out.

What stages compute is recorded in the store of the home before it is used, so that each of them goes on where it
stopped. A `Runtime` says where that is, who is shown what happens, and who tries a step again; flows give one that has
Prefect and MLflow do so.
"""
