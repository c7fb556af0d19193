package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// verify sends the queries of gates once: a misspelt metric has no value, and a provider that refuses says why.
func TestVerifyTriesGates(t *testing.T) {
	noMachine(t)
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		values := ""
		switch r.FormValue("query") {
		case "refused":
			w.WriteHeader(http.StatusForbidden)
			return
		case "queue_age":
			values = fmt.Sprintf(`{"metric":{},"values":[[%s,"3"]]}`, strings.Split(r.FormValue("start"), ".")[0])
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[%s]}}`, values)
	}))
	defer prometheus.Close()
	gate := func(name, query string) string {
		return "\n          - {name: " + name + ", provider: prom, query: " + query + ", expected: {max: 60}}"
	}
	files := edited(t, "gates", "sluice.yaml", "metrics:|metrics:"+gate("right", "queue_age")+gate("misspelt", "queue_aeg")+
		gate("denied", "refused"), "name: web|name: web\nanalysisProviders: [{name: prom, type: PROMETHEUS, config: {address: \""+
		prometheus.URL+"\"}}]")
	screen := playInWorld(t, files, exampleWorld(t, "gates"), func(b *diagnosisBench) { b.sluice("verify", "/app") })
	for _, want := range []string{
		"ok       gate right: 1 value in the last hour\n",
		"warning  gate misspelt: no value: its provider answers, and has none of the last hour (",
		"next: correct the query, or, if only a canary has such values, run sluice gate test",
		"warning  gate denied: no value: ", "403",
		"ok       gate errors: its metrics are in CloudWatch; sluice gate test reads them\n",
	} {
		if !strings.Contains(screen, want) {
			t.Errorf("verify printed this, want %q:\n%s", want, screen)
		}
	}
}
