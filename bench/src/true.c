/* The floor of every start: a static program that does nothing. */
int main(void) { return 0; }
