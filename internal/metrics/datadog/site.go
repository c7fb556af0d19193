package datadog

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// defaultSite is Datadog's first site.
const defaultSite = "datadoghq.com"

// sites are Datadog's sites (Datadog documentation, "Getting started with Datadog sites").
var sites = [...]string{defaultSite, "us3.datadoghq.com", "us5.datadoghq.com", "datadoghq.eu", "ap1.datadoghq.com",
	"ap2.datadoghq.com", "uk1.datadoghq.com", "ddog-gov.com", "us2.ddog-gov.com"}

// Address returns the address of the API of a site: a site's name, the address of its pages, or the
// URL of a proxy.
func Address(site string) (string, error) {
	if site == "" {
		site = defaultSite
	}
	host := site
	u, err := url.Parse(site)
	switch {
	case err == nil && u.Host != "":
		host = u.Host
	case strings.Contains(site, "://"):
		return "", fmt.Errorf("the address %q is not a URL", site)
	}
	name := strings.TrimPrefix(strings.TrimPrefix(host, "app."), "api.")
	switch {
	case slices.Contains(sites[:], name):
		return "https://api." + name, nil
	case host != site && (u.Scheme == "http" || u.Scheme == "https"):
		return strings.TrimSuffix(site, "/"), nil
	}
	return "", fmt.Errorf("%q is no site of Datadog: use one of %s, or the URL of a proxy", site,
		strings.Join(sites[:], ", "))
}
