package local

import (
	"fmt"
	"io"
	"maps"
	"net"
	"slices"

	"github.com/sluice-ecs/sluice/awssim"
)

// printNameHelp prints how to look up each Cloud Map name. The name server of the local AWS answers
// for these names, as the resolver of a VPC does.
func printNameHelp(w io.Writer, s *awssim.Sim, server string) {
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		return
	}
	for _, r := range s.View().Regions {
		for _, n := range r.Namespaces {
			for _, x := range n.Services {
				fmt.Fprintf(w, "# name %s.%s: %s\n", x.Name, n.Name, lookupCommand(n, x, host, port))
			}
		}
	}
}

// lookupCommand returns a command that finds the instances of a Cloud Map service.
func lookupCommand(n awssim.NameView, x awssim.RegistryView, host, port string) string {
	if n.Kind == "HTTP" || len(x.Records) == 0 { // it has no records in DNS
		return fmt.Sprintf("aws servicediscovery discover-instances --namespace-name %s --service-name %s", n.Name,
			x.Name)
	}
	dig := fmt.Sprintf("dig @%s -p %s %s.%s", host, port, x.Name, n.Name)
	if _, ok := x.Records["A"]; !ok { // dig queries A by default
		dig += " " + slices.Min(slices.Collect(maps.Keys(x.Records)))
	}
	return dig
}
