package view

import "testing"

// Two rules have requests in common if each part that both restrict has a value in common. What is not known counts as no.
func TestOverlap(t *testing.T) {
	one := func(field string, values ...string) Condition { return Condition{Field: field, Values: values} }
	header := func(name string, values ...string) Condition {
		return Condition{Field: "http-header", Header: name, Values: values}
	}
	regex := func(field, value string) Condition {
		return Condition{Field: field, Values: []string{value}, Regex: true}
	}
	type list = []Condition
	for name, c := range map[string]struct {
		some, others list
		want         bool
	}{
		"no conditions":             {nil, nil, true},
		"a path of all":             {list{one("path-pattern", "/a*")}, nil, true},
		"paths that cross":          {list{one("path-pattern", "/a*")}, list{one("path-pattern", "/*b")}, true},
		"paths that do not":         {list{one("path-pattern", "/a*c")}, list{one("path-pattern", "/b*c")}, false},
		"one character":             {list{one("path-pattern", "/a?")}, list{one("path-pattern", "/?b")}, true},
		"too short":                 {list{one("path-pattern", "/a??")}, list{one("path-pattern", "/ab")}, false},
		"a path and a host":         {list{one("path-pattern", "/a*")}, list{one("host-header", "x.example")}, true},
		"two hosts":                 {list{one("host-header", "y.example")}, list{one("host-header", "x.example")}, false},
		"hosts in other case":       {list{one("host-header", "X.example")}, list{one("host-header", "x.*")}, true},
		"a host as a header":        {list{header("Host", "y.example")}, list{one("host-header", "x.example")}, false},
		"one of several":            {list{one("path-pattern", "/x", "/a*")}, list{one("path-pattern", "/ab")}, true},
		"another part differs":      {list{one("path-pattern", "/a*"), one("http-request-method", "GET")}, list{one("http-request-method", "POST")}, false},
		"the same method":           {list{one("http-request-method", "GET")}, list{one("http-request-method", "GET", "PUT")}, true},
		"two headers":               {list{header("a", "1")}, list{header("b", "1")}, true},
		"a header in other case":    {list{header("A", "1")}, list{header("a", "2")}, false},
		"two parameters":            {list{one("query-string", "a=1")}, list{one("query-string", "a=2")}, true},
		"networks":                  {list{one("source-ip", "10.0.0.0/8")}, list{one("source-ip", "10.1.0.0/16")}, true},
		"other networks":            {list{one("source-ip", "10.0.0.0/9")}, list{one("source-ip", "10.128.0.0/9")}, false},
		"an expression and a text":  {list{regex("path-pattern", "/a+")}, list{one("path-pattern", "/aa")}, true},
		"an expression, unknown":    {list{regex("path-pattern", "/a+")}, list{one("path-pattern", "/a*")}, false},
		"a header twice in one":     {list{header("a", "1*"), header("a", "*2")}, nil, false},
		"an expression, other host": {list{regex("path-pattern", "/a+")}, list{one("host-header", "x.example")}, true},
	} {
		if overlap(c.some, c.others) != c.want || overlap(c.others, c.some) != c.want {
			t.Errorf("%s: %t, want %t", name, !c.want, c.want)
		}
	}
}
