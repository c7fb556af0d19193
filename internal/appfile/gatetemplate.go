package appfile

import (
	"io/fs"
	"path"
	"strings"

	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// templateFolder is the folder of analysis templates, as in PipeCD.
const templateFolder = ".pipe"

// findTemplate returns the metric of a template and its file. It returns nil after adding a problem.
func (r *gateReader) findTemplate(t *definition.Node) (*definition.Node, *definition.Source) {
	name := values.Text(t.Get("name"))
	if name == "" {
		return nil, nil // that is a problem of the entry already
	}
	var names []string
	for _, file := range r.templateFiles() {
		data, err := r.readFile(file)
		if err != nil {
			continue
		}
		src, err := definition.Parse(file, data)
		if err != nil {
			r.others = append(r.others, err)
			continue
		}
		if src.Root.Get("kind") == nil || src.Root.Get("kind").Text != "AnalysisTemplate" {
			continue
		}
		metrics := src.Root.Get("spec").Get("metrics")
		if n := metrics.Get(name); values.IsGiven(n) {
			c := &checker{src: src, format: r.app.Format}
			c.checkObject(n, shape{kind: object, keys: metricKeys()}, "spec.metrics."+name)
			r.problems = append(r.problems, c.problems...)
			return n, src
		}
		for _, e := range values.Entries(metrics) {
			names = append(names, e.Key)
		}
	}
	p := r.src.At(t.Get("name"), "there is no metric %q in the analysis templates of the folder %s", name, templateFolder)
	p.Meant = definition.Nearest(name, names)
	r.addProblem(p)
	return nil, nil
}

// templateFiles returns the files of the nearest folder .pipe, from the application file upwards.
func (r *gateReader) templateFiles() (files []string) {
	for dir := path.Dir(r.app.File); ; dir = path.Dir(dir) {
		entries, _ := fs.ReadDir(r.fsys, path.Join(dir, templateFolder))
		for _, e := range entries {
			if name := e.Name(); strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") {
				files = append(files, path.Join(dir, templateFolder, name))
			}
		}
		if len(files) > 0 || dir == "." || dir == "/" {
			return files
		}
	}
}
