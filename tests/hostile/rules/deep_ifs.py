# about: 40 conditions inside each other
# expect: scored | rejected/syntax | rejected/forbidden
def candidate_variable_score(variable_features):
    x = 0.0
    if variable_features[0] >= 0.0:
     if variable_features[1] >= 0.0:
      if variable_features[2] >= 0.0:
       if variable_features[3] >= 0.0:
        if variable_features[4] >= 0.0:
         if variable_features[5] >= 0.0:
          if variable_features[6] >= 0.0:
           if variable_features[7] >= 0.0:
            if variable_features[8] >= 0.0:
             if variable_features[9] >= 0.0:
              if variable_features[10] >= 0.0:
               if variable_features[11] >= 0.0:
                if variable_features[12] >= 0.0:
                 if variable_features[13] >= 0.0:
                  if variable_features[14] >= 0.0:
                   if variable_features[15] >= 0.0:
                    if variable_features[16] >= 0.0:
                     if variable_features[17] >= 0.0:
                      if variable_features[18] >= 0.0:
                       if variable_features[19] >= 0.0:
                        if variable_features[20] >= 0.0:
                         if variable_features[21] >= 0.0:
                          if variable_features[22] >= 0.0:
                           if variable_features[23] >= 0.0:
                            if variable_features[24] >= 0.0:
                             if variable_features[25] >= 0.0:
                              if variable_features[26] >= 0.0:
                               if variable_features[27] >= 0.0:
                                if variable_features[28] >= 0.0:
                                 if variable_features[29] >= 0.0:
                                  if variable_features[30] >= 0.0:
                                   if variable_features[31] >= 0.0:
                                    if variable_features[32] >= 0.0:
                                     if variable_features[33] >= 0.0:
                                      if variable_features[34] >= 0.0:
                                       if variable_features[35] >= 0.0:
                                        if variable_features[36] >= 0.0:
                                         if variable_features[37] >= 0.0:
                                          if variable_features[38] >= 0.0:
                                           if variable_features[39] >= 0.0:
                                            x = variable_features[18]
    return x
