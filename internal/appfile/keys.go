package appfile

import (
	"slices"
	"strings"
)

// Treatment says how sluice treats a key.
type Treatment string

// The four treatments.
const (
	// Honoured keys take effect in sluice.
	Honoured Treatment = "honoured"
	// PipedsOwn keys are ignored by sluice and noted once. Only piped uses them.
	PipedsOwn Treatment = "piped's own"
	// Unused keys are in PipeCD's documentation, but neither PipeCD nor sluice uses them. They are
	// noted once.
	Unused Treatment = "unused"
	// Refused keys are an error, with a sentence.
	Refused Treatment = "refused"
)

// Key is one key of application files, or one kind of stage.
type Key struct {
	// Path is the key with its parents, without the envelope: "spec." and, for PipeCD v1,
	// "plugins.<name>." are omitted. "pipeline.stages[WAIT].with.duration" is an option of a stage.
	Path      string
	Treatment Treatment
	Sentence  string   // its effect, or why it is refused
	Formats   []Format // formats with this treatment
}

// kind is the kind of value that a key takes.
type kind int

const (
	anyValue    kind = iota // any value: only piped uses it
	object                  // a map of keys
	list                    // a list of shapes
	text                    // text
	labels                  // a map of text
	flag                    // true or false
	integer                 // a whole number
	percent                 // a whole number, or text like "10%"
	span                    // a duration like "10m"
	delay                   // a duration from min to max seconds
	number                  // a number
	ratio                   // a number of at least 1
	fraction                // a share above 0 and below 100 percent, like "1%" or 0.01
	signal                  // a metric of a load balancer
	webAddress              // a URL of http or https
	secretPlace             // where a secret is: env:NAME or ssm:/name
	choice                  // one of several words
	word                    // text that names a step
	request                 // fields of AWS's RunTask request
	stages                  // the stages of a pipeline
	plugins                 // PipeCD v1's map of plugins
	named                   // a map of names to objects
)

// shape describes the value that a key takes, in detail.
type shape struct {
	kind     kind
	keys     []key         // of an object
	single   []string      // keys of an object of which at most one is given
	one      bool          // an object has exactly one entry
	complete [][]string    // an object has all keys of one of these sets
	of       *shape        // of a list, or of a map of names
	min, max int64         // of a whole number, a percent or a delay; min is the least length of a text
	words    []string      // of a choice
	refused  []refusedWord // words of a choice that are refused with a sentence
	remark   string        // added to the message that refuses the value
}

// key is one key of an object.
type key struct {
	name      string
	treatment Treatment
	sentence  string
	needed    bool
	shape     shape
}

// refusedWord is a word that sluice knows and refuses.
type refusedWord struct{ word, sentence string }

func honouredKey(name string, s shape, says string) key {
	return key{name: name, treatment: Honoured, sentence: says, shape: s}
}

func neededKey(name string, s shape, says string) key {
	return key{name: name, treatment: Honoured, sentence: says, shape: s, needed: true}
}

func pipedsOwnKey(name, says string) key {
	return key{name: name, treatment: PipedsOwn, sentence: says}
}

func unusedKey(name, says string) key {
	return key{name: name, treatment: Unused, sentence: says}
}

func refusedKey(name, says string) key {
	return key{name: name, treatment: Refused, sentence: says}
}

// allFormats returns all formats, in the order of the documentation.
func allFormats() []Format { return []Format{PipeCDv0, PipeCDv1, Sluice, Ecspresso} }

// pluginPath is the path of the plugin's part under the spec of PipeCD v1.
const pluginPath = "plugins.<name>"

// Keys returns all keys of all formats, sorted by path. It is made from the tables that [Load]
// uses.
func Keys() []Key {
	var all []Key
	for _, f := range allFormats() {
		for _, k := range keysOf(specShape(f), "", f) {
			k.Path = strings.TrimPrefix(k.Path, pluginPath+".")
			all = addKey(all, k, f)
		}
	}
	slices.SortStableFunc(all, func(a, b Key) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// addKey adds the key, or adds the format to an equal key.
func addKey(all []Key, k Key, f Format) []Key {
	for i, other := range all {
		if other.Path == k.Path && other.Treatment == k.Treatment && other.Sentence == k.Sentence {
			all[i].Formats = append(all[i].Formats, f)
			return all
		}
	}
	k.Formats = []Format{f}
	return append(all, k)
}

// keysOf returns the keys within a shape.
func keysOf(s shape, path string, f Format) []Key {
	var all []Key
	switch s.kind {
	case object:
		for _, k := range s.keys {
			at := joinPath(path, k.name)
			all = append(all, Key{Path: at, Treatment: k.treatment, Sentence: k.sentence})
			all = append(all, keysOf(k.shape, at, f)...)
		}
	case list:
		return keysOf(*s.of, path+"[]", f)
	case choice:
		for _, r := range s.refused {
			all = append(all, Key{Path: path + "=" + r.word, Treatment: Refused, Sentence: r.sentence})
		}
	case plugins:
		return keysOf(pluginShape(), path+".<name>", f)
	case stages:
		all = append(all, keysOf(entryShape(f), path+"[]", f)...)
		for _, st := range stageKinds(f) {
			at := path + "[" + st.name + "]"
			all = append(all, Key{Path: at, Treatment: st.treatment, Sentence: st.sentence})
			all = append(all, keysOf(st.withShape(), at+".with", f)...)
		}
	}
	return all
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
