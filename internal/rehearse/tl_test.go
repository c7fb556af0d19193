package rehearse_test

import ("testing";"os")

func TestTL(t *testing.T) {
	r := release{example: os.Getenv("TLX"), image: os.Getenv("TLI"), seed: 1, noBreaker: os.Getenv("TLB") != ""}
	r.deploy(t)
	t.Log(r.verdict, r.took, r.total())
}
