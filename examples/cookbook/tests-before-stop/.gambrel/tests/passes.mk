test:
	@true
