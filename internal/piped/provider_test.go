package piped_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// prometheus has one series: about 10, or about 100 from a time on. It wants a password.
type prometheus struct{ slowFrom atomic.Int64 }

func (p *prometheus) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); user != "reader" || password != "token-of-the-test" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var start, end float64
	fmt.Sscan(r.FormValue("start"), &start)
	fmt.Sscan(r.FormValue("end"), &end)
	var points []string
	for at := int64(start); at <= int64(end); at += 60 {
		value := 10 + at/60%7
		if slow := p.slowFrom.Load(); slow > 0 && at >= slow {
			value += 100
		}
		points = append(points, fmt.Sprintf(`[%d,"%d"]`, at, value))
	}
	fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[%s]}]}}`,
		strings.Join(points, ","))
}

// withProvider starts the plugin with the stage ANALYSIS and a provider in its configuration, under load.
func withProvider(t *testing.T, address string) *rig {
	t.Helper()
	r := newRig(t, external)
	r.plugin.kill()
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "user"), []byte("reader\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(folder, "password"), []byte("token-of-the-test\n"), 0o600))
	config := `{"analysis":true,"analysisProviders":[{"name":"prom","type":"PROMETHEUS",` +
		fmt.Sprintf(`"config":{"address":%q,"usernameFile":%q,"passwordFile":%q}}]}`, address,
			filepath.Join(folder, "user"), filepath.Join(folder, "password"))
	r.plugin = r.launch(strings.Replace(r.entry("dt"), `"name":"ecs"`, `"name":"ecs","config":`+config, 1))
	r.flow()
	return r
}

func queryStages(with string) (string, []*contract.BuildPipelineSyncStagesRequest_StageConfig) {
	stages := analysisStages()
	stages[len(stages)-1].Config = []byte(with)
	return appFile(strings.Replace(analysisPipeline, analysisStage, with, 1)), stages
}

// A gate of PipeCD's strategy PREVIOUS compares with the last deployment whose analysis succeeded. Its provider
// and the provider's password are of piped's configuration.
func TestPreviousInsidePiped(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&prometheus{})
	series := server.Config.Handler.(*prometheus)
	defer server.Close()
	r := withProvider(t, server.URL)
	app, stages := queryStages(`{"duration":"6m","metrics":[{"provider":"prom","query":"latency","strategy":"PREVIOUS","interval":"5m"}]}`)
	first := r.begin(source{image: "sim/web:v1", app: app}, source{image: "sim/web:v2", app: app}, stages...)
	for _, s := range first.inOrder() {
		first.run(s)
		if log := r.piped.text(s.GetId()); strings.Contains(log, "token-of-the-test") {
			t.Errorf("the password is shown\n%s", log)
		}
	}
	series.slowFrom.Store(r.clock.Now().Unix())
	d := r.begin(source{image: "sim/web:v2", app: app}, source{image: "sim/web:v3", app: app}, stages...)
	of := d.inOrder()
	d.run(of[0])
	d.run(of[1])
	if log := d.fails(of[2]); !strings.Contains(log, "latency") {
		t.Errorf("the log does not name the gate\n%s", log)
	}
	d.run(d.back())
	r.want(serves("v2"))
}

// A provider of the application's file, which others write, gets no secret of piped's machine.
func TestSecretsOfPipedAreNotSentToOthers(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&prometheus{})
	defer server.Close()
	r := withProvider(t, server.URL)
	for name, c := range map[string]struct{ with, providers, want string }{
		"token": {`{"duration":"25m","metrics":[{"provider":"own","query":"q","expected":{"max":1}}]}`,
			`{name: own, type: PROMETHEUS, config: {address: "` + server.URL + `", bearer: "env:PROMETHEUS_TOKEN"}}`,
			"has a provider with a secret of piped's machine"},
		"file": {`{"duration":"25m","metrics":[{"provider":"own","query":"q","expected":{"max":1}}]}`,
			`{name: own, type: PROMETHEUS, config: {address: "` + server.URL + `", usernameFile: /etc/hostname, passwordFile: /etc/hostname}}`,
			"has a provider with a secret of piped's machine"},
		"file in a header": {`{"duration":"25m","metrics":[{"provider":"own","query":"q","expected":{"max":1}}]}`,
			`{name: own, type: WEB, config: {address: "` + server.URL + `", headers: {X-Info: "file:/etc/hostname"}}}`,
			"has a provider with a secret of piped's machine"},
		"parameter by its ARN": {`{"duration":"25m","https":[{"url":"` + server.URL + `","headers":[{"key":"X-Info","value":` +
			`"ssm:arn:aws:ssm:us-east-1:000000000000:parameter/x"}]}]}`,
			`{name: own, type: WEB, config: {address: "` + server.URL + `"}}`, "sends a secret of piped's machine"},
		"header": {`{"duration":"25m","https":[{"url":"` + server.URL + `","headers":[{"key":"Authorization","value":"env:PROMETHEUS_TOKEN"}]}]}`,
			`{name: own, type: WEB, config: {address: "` + server.URL + `"}}`, "sends a secret of piped's machine"},
	} {
		t.Run(name, func(t *testing.T) {
			app, stages := queryStages(c.with)
			app += "  analysisProviders: [" + c.providers + "]\n"
			d := r.begin(source{image: "sim/web:v1", app: app}, source{app: app}, stages...)
			if log := d.fails(d.inOrder()[0]); !strings.Contains(log, c.want) {
				t.Errorf("want %q\n%s", c.want, log)
			}
		})
	}
}
