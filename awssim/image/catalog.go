package image

import (
	"maps"
	"slices"
	"strings"
)

// Catalog maps references to images, in addition to the built-in sim/* ones. Its entries take
// precedence. A key with * is a pattern: * matches any text, slashes included.
type Catalog map[string]Behaviour

// HostImages is the key that allows a catalogue to start programs of the host. Without it, a host:
// reference is a container that cannot start, with the reason.
const HostImages = "host:"

const hostImagesOff = "CannotStartContainerError: images of the host are off here; allow them with " +
	"--allow-host-images (library: Options.AllowHostImages)"

// Lookup returns the behaviour of the image of that reference: from the catalogue (the reference
// itself, otherwise the pattern with the most characters besides *), otherwise by [Parse]. Any other
// image is a healthy web server that answers its name and tag. ok is false for a reference that
// cannot be read.
func (c Catalog) Lookup(ref string) (b Behaviour, ok bool) {
	if b, ok := c[ref]; ok && ref != HostImages {
		return b, true
	}
	if b, ok := c.lookupPattern(ref); ok {
		return b, true
	}
	if !isBuiltIn(ref) {
		return Behaviour{Version: NameAndTag(ref)}, isReference(ref)
	}
	b, err := Parse(ref)
	if err != nil {
		return Behaviour{}, false
	}
	if _, allowed := c[HostImages]; strings.HasPrefix(ref, HostImages) && !allowed {
		return Behaviour{Version: b.Version, NoBoot: hostImagesOff}, true
	}
	return b, true
}

// lookupPattern returns the behaviour of the most specific pattern. No pattern selects programs of
// the host.
func (c Catalog) lookupPattern(ref string) (found Behaviour, ok bool) {
	if strings.HasPrefix(ref, HostImages) {
		return found, false
	}
	best := -1
	for _, key := range slices.Sorted(maps.Keys(c)) {
		literal := len(key) - strings.Count(key, "*")
		if IsPattern(key) && literal > best && matchesPattern(key, ref) {
			found, best = c[key], literal
		}
	}
	if best < 0 {
		return found, false
	}
	return found.withVersion(NameAndTag(ref)), true
}

// withVersion fills in the version where a pattern names none.
func (b Behaviour) withVersion(version string) Behaviour {
	if b.Version == "" {
		b.Version = version
	}
	if b.Commands != nil {
		all := make(map[string]Behaviour, len(b.Commands))
		for command, x := range b.Commands {
			all[command] = x.withVersion(version)
		}
		b.Commands = all
	}
	return b
}

// IsPattern reports whether a key of a catalogue is a pattern.
func IsPattern(key string) bool { return strings.Contains(key, "*") }

func matchesPattern(pattern, ref string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(ref) < len(first)+len(last) || !strings.HasPrefix(ref, first) || !strings.HasSuffix(ref, last) {
		return false
	}
	rest := ref[len(first) : len(ref)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return true
}

// isBuiltIn reports whether a reference describes a behaviour itself; see [Parse].
func isBuiltIn(ref string) bool {
	name, _, _ := strings.Cut(ref, "?")
	repo, _ := SplitReference(name)
	return strings.HasPrefix(ref, HostImages) || isSimImage(repo)
}

// isReference reports whether a container runtime accepts the text as an image reference. It checks
// only what people get wrong: spaces, capital letters in the repository, empty parts.
func isReference(ref string) bool {
	repo, tag := SplitReference(ref)
	if i := strings.IndexByte(repo, '/'); i > 0 && strings.ContainsAny(repo[:i], ".:") {
		repo = repo[i+1:] // a registry may have capital letters
	}
	return repo != "" && tag != "" && !strings.ContainsAny(ref, " \t\r\n\"'") && repo == strings.ToLower(repo) &&
		!strings.HasPrefix(repo, "/") && !strings.HasSuffix(repo, "/") && !strings.Contains(repo, "//")
}

// SplitReference splits a reference into repository and tag or digest. A reference without either
// has the tag latest. A colon before a slash belongs to the registry's port.
func SplitReference(ref string) (repo, tag string) {
	if repo, digest, ok := strings.Cut(ref, "@"); ok {
		name, _ := SplitReference(repo)
		return name, digest
	}
	i := strings.LastIndexByte(ref, ':')
	if i < 0 || strings.ContainsRune(ref[i:], '/') {
		return ref, "latest"
	}
	return ref[:i], ref[i+1:]
}

// NameAndTag returns the last part of an image's repository with its tag: "nginx:1.27" for
// public.ecr.aws/nginx/nginx:1.27. Of a digest it returns the first characters.
func NameAndTag(ref string) string {
	repo, tag := SplitReference(ref)
	name := repo[strings.LastIndexByte(repo, '/')+1:]
	if algorithm, sum, ok := strings.Cut(tag, ":"); ok {
		return name + "@" + algorithm + ":" + sum[:min(12, len(sum))]
	}
	return name + ":" + tag
}
