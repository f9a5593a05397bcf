objective value:                                    6
col2                                                1 	(obj:1)
col5                                                3 	(obj:1)
col6                                                2 	(obj:1)
