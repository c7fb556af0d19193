package definition

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

const container = "containerDefinitions: [{name: web, image: 'web:v1'}]\n"

// The exact words that a person reads.
func TestWhatIsRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		service bool
		file    string
		want    string
	}{
		{
			name: "a key misspelt",
			file: "family: web\nmemroy: 512\n" + container,
			want: `f:2:1: unknown key "memroy" in the task definition
   2 | memroy: 512
     | ^
did you mean "memory"?`,
		},
		{
			name: "a key within a container, by tabs",
			file: "{\n\t\"family\": \"web\",\n\t\"containerDefinitions\": [{\n\t\t\"name\": \"web\", \"image\": " +
				"\"web:v1\",\n\t\t\"portMapings\": []\n\t}]\n}\n",
			want: "f:5:3: unknown key \"portMapings\" in containerDefinitions[]\n" +
				"   5 | \t\t\"portMapings\": []\n" +
				"     | \t\t^\n" +
				`did you mean "portMappings"?`,
		},
		{
			name: "a key that AWS may have one day",
			file: "family: web\nquantumEntanglement: true\n" + container,
			want: `f:2:1: unknown key "quantumEntanglement" in the task definition: not a field of AWS, or newer than sluice's AWS SDK
   2 | quantumEntanglement: true
     | ^
next: correct the key, or remove it`,
		},
		{
			name: "a service definition in place of the task definition",
			file: "cluster: prod\nserviceName: web\nlaunchType: FARGATE\n",
			want: `f:2:14: this is a service definition, not the task definition
   2 | serviceName: web
     |              ^
next: name the file of the task definition: are the names of the two files exchanged?`,
		},
		{
			name: "a task definition in place of the service definition", service: true,
			file: "family: web\n" + container,
			want: `f:2:23: this is a task definition, not the service definition
   2 | containerDefinitions: [{name: web, image: 'web:v1'}]
     |                       ^
next: name the file of the service definition: are the names of the two files exchanged?`,
		},
		{
			name: "a number where AWS wants text",
			file: "family: 8080\n" + container,
			want: `f:1:9: family is text, and this is a number
   1 | family: 8080
     |         ^
next: write the value in quotes`,
		},
		{
			name: "text where AWS wants a number",
			file: "family: web\ncontainerDefinitions:\n  - name: web\n    image: web:v1\n    cpu: \"256\"\n",
			want: `f:5:10: containerDefinitions[].cpu is a whole number, and this is text
   5 |     cpu: "256"
     |          ^
next: write 256 without quotes`,
		},
		{
			name: "a fraction where AWS wants a whole number",
			file: "family: web\ncontainerDefinitions:\n  - name: web\n    image: web:v1\n    cpu: 0.5\n",
			want: `f:5:10: containerDefinitions[].cpu is a whole number, and 0.5 is none
   5 |     cpu: 0.5
     |          ^
next: write a whole number`,
		},
		{
			name: "a number too large",
			file: "family: web\ncontainerDefinitions:\n  - name: web\n    image: web:v1\n    cpu: 4294967296\n",
			want: `f:5:10: containerDefinitions[].cpu: 4294967296 is beyond 2147483647
   5 |     cpu: 4294967296
     |          ^
next: write a smaller number`,
		},
		{
			name: "true in quotes",
			file: "family: web\ncontainerDefinitions:\n  - name: web\n    image: web:v1\n    essential: \"True\"\n",
			want: `f:5:16: containerDefinitions[].essential is true or false, and this is text
   5 |     essential: "True"
     |                ^
next: write true without quotes`,
		},
		{
			name: "yes for true",
			file: "family: web\ncontainerDefinitions:\n  - name: web\n    image: web:v1\n    essential: yes\n",
			want: `f:5:16: containerDefinitions[].essential is true or false, and this is text
   5 |     essential: yes
     |                ^
did you mean "true"?`,
		},
		{
			name: "a value that AWS does not have",
			file: "family: web\nnetworkMode: awspvc\n" + container,
			want: `f:2:14: networkMode cannot be "awspvc"
   2 | networkMode: awspvc
     |              ^
did you mean "awsvpc"?`,
		},
		{
			name:    "a map where AWS wants a list",
			service: true,
			file:    "serviceName: web\nloadBalancers: {targetGroupArn: x}\n",
			want: `f:2:16: loadBalancers is a list, and this is a map
   2 | loadBalancers: {targetGroupArn: x}
     |                ^
next: write a list here`,
		},
		{
			name:    "a switch that has words",
			service: true,
			file:    "serviceName: web\nnetworkConfiguration: {awsvpcConfiguration: {subnets: [subnet-1], assignPublicIp: false}}\n",
			want: `f:2:83: networkConfiguration.awsvpcConfiguration.assignPublicIp cannot be "false"
   2 | networkConfiguration: {awsvpcConfiguration: {subnets: [subnet-1], assignPublicIp: false}}
     |                                                                                   ^
did you mean "DISABLED"?`,
		},
		{
			name:    "a switch that has words, in quotes",
			service: true,
			file:    "serviceName: web\nnetworkConfiguration: {awsvpcConfiguration: {assignPublicIp: 'True'}}\n",
			want: `f:2:62: networkConfiguration.awsvpcConfiguration.assignPublicIp cannot be "True"
   2 | networkConfiguration: {awsvpcConfiguration: {assignPublicIp: 'True'}}
     |                                                              ^
did you mean "ENABLED"?`,
		},
		{
			name: "a key twice",
			file: "family: web\nfamily: api\n" + container,
			want: `f:2:1: family is given twice in the task definition
   2 | family: api
     | ^
next: remove one of the two`,
		},
		{
			name:    "a key and its other name",
			service: true,
			file:    "serviceName: web\ncluster: a\nclusterArn: b\n",
			want: `f:3:1: cluster is given twice in the service definition
   3 | clusterArn: b
     | ^
next: remove one of the two`,
		},
		{
			name: "several problems, the misspelled keys first, and not that keys are missing which they were meant for",
			file: "famly: web\ncpu: 256\ncontainerDefinitions:\n  - name: web\n    imge: x\n  - name: proxy\n    image: \"\"\n" +
				"  - name: logs\n",
			want: `f:1:1: unknown key "famly" in the task definition
   1 | famly: web
     | ^
did you mean "family"?
f:5:5: unknown key "imge" in containerDefinitions[]
   5 |     imge: x
     |     ^
did you mean "image"?
f:7:12: container proxy has no image
   7 |     image: ""
     |            ^
next: write image: repository:tag; or image: from-service, which --image replaces
f:8:5: container logs has no image
   8 |   - name: logs
     |     ^
next: write image: repository:tag; or image: from-service, which --image replaces`,
		},
		{
			name: "malformed YAML",
			file: "family: [web\n",
			want: `f:1:9: malformed YAML: the [ that is opened here is not closed
   1 | family: [web
     |         ^
next: add ]`,
		},
		{
			name: "a bracket that a later line shows to be open",
			file: "family: web\nrequiresCompatibilities: [FARGATE # not ]\ncpu: \"]\"\n",
			want: `f:2:26: malformed YAML: the [ that is opened here is not closed
   2 | requiresCompatibilities: [FARGATE # not ]
     |                          ^
next: add ] before line 3`,
		},
		{
			name: "a bracket that the other kind closes",
			file: "family: web\nvolumes: [{name: data]\n",
			want: `f:2:11: malformed YAML: the { that is opened here is not closed
   2 | volumes: [{name: data]
     |           ^
next: add }`,
		},
		{
			name: "a tab",
			file: "family: web\n  \tcpu: \"256\"\n",
			want: `f:2:3: malformed YAML: the line is indented with a tab
   2 |   	cpu: "256"
     |   ^
next: use spaces in place of the tab`,
		},
		{
			name:    "piped's template",
			service: true,
			file:    "serviceName: web\nrole: {{ .encryptedSecrets.role }}\n",
			want: `f:2:7: piped replaces {{ .encryptedSecrets }} before it deploys the file; sluice does not: deploy through piped, or name the secret under secrets in the task definition
   2 | role: {{ .encryptedSecrets.role }}
     |       ^`,
		},
		{
			name:    "two documents",
			service: true,
			file:    "serviceName: web\n---\nserviceName: api\n",
			want: `f:3:1: a second YAML document begins here; a file must contain only one
   3 | serviceName: api
     | ^`,
		},
		{
			name:    "an empty file",
			service: true,
			file:    "",
			want:    `f:1:1: the service definition must be a map of AWS's fields, not nothing`,
		},
		{
			name:    "a described list of several",
			service: true,
			file:    `{"services": [{"serviceName": "a"}, {"serviceName": "b"}]}`,
			want: `f:1:14: services has 2 services; a service definition has one
   1 | {"services": [{"serviceName": "a"}, {"serviceName": "b"}]}
     |              ^
next: remove the other services from the file`,
		},
		{
			name: "an alias of nothing",
			file: "family: *name\n",
			want: `f:1:9: anchor &name is not defined before this alias
   1 | family: *name
     |         ^`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := DecodeTask("f", []byte(c.file))
			if c.service {
				_, err = DecodeService("f", []byte(c.file))
			}
			if err == nil || err.Error() != c.want {
				t.Fatalf("got:\n%v\nwant:\n%s", err, c.want)
			}
			var p *Problem
			if !errors.As(err, &p) {
				t.Fatalf("%T holds no *Problem", err)
			}
		})
	}
}

// Lines are shown, the values of environments and options in them are not.
func TestProblemsShowNoSecret(t *testing.T) {
	for _, file := range []string{
		"family: web\ncontainerDefinitions:\n- name: web\n  image: x\n  environment:\n  - {name: PW, valeu: hunter2}\n",
		"family: web\ncontainerDefinitions:\n- name: web\n  image: x\n  environment:\n  - name: PW\n    value: " +
			"[hunter2]\n",
		"family: web\ncontainerDefinitions:\n- name: web\n  image: x\n  enviroment: [{name: PW, value: hunter2}]\n",
		"family: web\ncontainerDefinitions:\n- name: web\n  image: x\n  environment: {PW: hunter2}\n",
		`{"family": "web", "contanerDefinitions": [{"name": "web", "environment": [{"name": "PW", "value": "hunter2"}]}]}`,
		"family: web\nx: &pw hunter2\ncontainerDefinitions:\n- name: web\n  image: x\n  environment: [{name: PW, " +
			"value: *pw}]\n",
		"family: web\ncontainerDefinitions:\n- name: web\n  image: x\n  logConfiguration: {logDriver: splunc, " +
			"options: {splunk-token: hunter2}}\n",
		"family: web\ncontainerDefinitions: [{name: web, environment: [{name: PW, value: hunter2]}]\n",
		"containerDefinitions:\n- environment:\n  - name: PW\n    value: hunter2: x\n",
		"containerDefinitions:\n- environment:\n  - name: PW\n    valeu: hunter2: x\n",
		"containerDefinitions:\n- logConfiguration:\n    options:\n      splunk-token: hunter2: x\n",
		"containerDefinitions:\n- environment:\n  - name: [PW\n    hunter2\n  - }\n",
		`{"containerDefinitions": [{"secrets": [{"valueFrom": "arn:x"}], "environment": [{"name": "PW", "value": "hunter2"}}]}`,
	} {
		_, err := DecodeTask("f", []byte(file))
		if err == nil {
			t.Errorf("accepted:\n%s", file)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("shown:\n%v", err)
		}
	}
}

// The values of an environment of an application file are shown, those with secret names are not.
func TestProblemsShowKeysOfEnvironments(t *testing.T) {
	const file = "environments:\n  prod: {clster: shop, variables: {DB_PASSWORD: hunter2}}\n"
	src, err := Parse("f", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	src.HideSecrets()
	p := src.At(src.Root.Get("environments").Get("prod").Get("clster"), "x").Error()
	if !strings.Contains(p, "clster: shop") || strings.Contains(p, "hunter2") {
		t.Errorf("got %s", p)
	}
	p = src.At(src.Root.Get("environments").Get("prod").Get("variables"), "x").Error()
	if strings.Contains(p, "hunter2") {
		t.Errorf("shown: %s", p)
	}
}

// A long line is cut around its problem, and marked where it is cut.
func TestLongLinesAreCut(t *testing.T) {
	file := `{"family": "` + strings.Repeat("x", 3000) + `", "memroy": "1", "y": "` + strings.Repeat("z", 3000) + `"}`
	_, err := DecodeTask("f", []byte(file))
	lines := strings.Split(err.Error(), "\n")
	var shown, caret string
	for i, line := range lines {
		if strings.Contains(line, "memroy") && strings.Contains(line, " | ") {
			shown, caret = line, lines[i+1]
			break
		}
	}
	at := utf8.RuneCountInString(caret) - 1
	if len(shown) > 200 || !strings.HasPrefix(string([]rune(shown)[at:]), `"memroy"`) ||
		!strings.Contains(shown, "| …") || !strings.HasSuffix(shown, "…") {
		t.Fatalf("%s\n%s", shown, caret)
	}
}

// A file whose name ends with .json is told as JSON, with the place of its first error. YAML that is no JSON is accepted
// in it, as PipeCD accepts it.
func TestMalformedJSON(t *testing.T) {
	for file, want := range map[string]string{
		"{\n  \"family\": \"web\"\n  \"cpu\": \"256\"\n}\n": "taskdef.json:3:3: malformed JSON: a comma or } is missing before this",
		"{\r\n\t\"family\": \"é\" \"cpu\": 1}":              "taskdef.json:2:16: malformed JSON: a comma or } is missing before this",
		"{\n  // web\n  \"family\": \"web\"\n}":             "taskdef.json:2:3: JSON has no comments; remove it",
		"{\"family\": \"web\", /* web */ \"cpu\": \"256\"}": "taskdef.json:1:19: JSON has no comments; remove it",
		"{\"family\": [1, 2}":                               "taskdef.json:1:12: malformed JSON: the [ that is opened here is not closed",
		"{\"family\": [{\"a\": \"]\"}\n":                    "taskdef.json:1:12: malformed JSON: the [ that is opened here is not closed",
		"{\"family\" \"web\":, : }":                         "taskdef.json:1:11: malformed JSON: a colon is missing before this",
		"{\"family\": [1, ]]":                               "taskdef.json:1:16: malformed JSON: a value is missing before this",
		"{\"family\": 1, 'a: 2}":                            "taskdef.json:1:15: malformed JSON: a key in double quotes is missing before this",
		"{\"family\": \"web\",\n \"cpu\": ":                 "taskdef.json:2:8: malformed JSON: the file ends, and a closing",
		"\xef\xbb\xbf{\"family\": \"web\"}}":                "taskdef.json:1:18: malformed JSON: the document ends before this",
		"\n \"family\": \"web\",\n\"cpu\": \"256\"}":        "taskdef.json:2:2: malformed JSON: it does not begin with {",
		"{\"family\": \"web\",\n\"cpu\": tru, : 1}":         "taskdef.json:2:11: malformed JSON: invalid character ',' in literal true",
	} {
		_, err := Parse("taskdef.json", []byte(file))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", file, err, want)
		}
		_, err = Parse("taskdef.yaml", []byte(file))
		if !strings.Contains(want, "comments") && (err == nil || !strings.Contains(err.Error(), "YAML")) {
			t.Errorf("%q: %v", file, err)
		}
	}
	if _, err := Parse("taskdef.json", []byte("{\"family\": \"web\",} # comment\n")); err != nil {
		t.Error(err)
	}
}
