# about: white space only
# expect: rejected/no_code

   
	
