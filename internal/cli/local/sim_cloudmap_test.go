package local

import (
	"testing"

	"github.com/sluice-ecs/sluice/awssim"
)

// What the local AWS prints finds the instances, whatever records they have.
func TestHowNamesAreLookedUp(t *testing.T) {
	of := func(types ...string) awssim.RegistryView {
		x := awssim.RegistryView{Name: "api", Records: map[string]string{}}
		for _, t := range types {
			x.Records[t] = "10s"
		}
		return x
	}
	private := awssim.NameView{Name: "shop.local", Kind: "DNS_PRIVATE"}
	for _, c := range []struct {
		in   awssim.NameView
		x    awssim.RegistryView
		want string
	}{
		{private, of("A"), "dig @127.0.0.1 -p 53 api.shop.local"},
		{private, of("SRV", "A"), "dig @127.0.0.1 -p 53 api.shop.local"},
		{private, of("SRV"), "dig @127.0.0.1 -p 53 api.shop.local SRV"},
		{private, of(), "aws servicediscovery discover-instances --namespace-name shop.local --service-name api"},
		{awssim.NameView{Name: "shop", Kind: "HTTP"}, of(),
			"aws servicediscovery discover-instances --namespace-name shop --service-name api"},
	} {
		if got := lookupCommand(c.in, c.x, "127.0.0.1", "53"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
