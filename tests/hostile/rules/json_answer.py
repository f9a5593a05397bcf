# about: an object where code was asked for
# expect: rejected/forbidden | rejected/signature
{"code": "return 1.0"}
