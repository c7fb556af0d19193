package signedread

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Parameter is a parameter of Systems Manager.
type Parameter struct{ Name, Type, Value string }

// IsSecret reports whether the value is encrypted in Systems Manager.
func (p Parameter) IsSecret() bool { return p.Type == "SecureString" }

// Parameter returns a parameter with its value.
func (r Reader) Parameter(ctx context.Context, name string) (Parameter, error) {
	var out struct{ Parameter Parameter }
	err := r.callJSON(ctx, "ssm", "AmazonSSM", "GetParameter", name,
		map[string]any{"Name": name, "WithDecryption": true}, &out)
	return out.Parameter, err
}

// MissingParameters returns the names and ARNs of parameters that do not exist. It reads no decrypted values.
func (r Reader) MissingParameters(ctx context.Context, names []string) ([]string, error) {
	const most = 10 // API reference, GetParameters
	var missing []string
	for len(names) > 0 {
		n := min(most, len(names))
		var out struct{ InvalidParameters []string }
		err := r.callJSON(ctx, "ssm", "AmazonSSM", "GetParameters", strings.Join(names[:n], ", "),
			map[string]any{"Names": names[:n]}, &out)
		if err != nil {
			return nil, err
		}
		missing, names = append(missing, out.InvalidParameters...), names[n:]
	}
	return missing, nil
}

// SecretARN returns the ARN of a secret, by its name or ARN.
func (r Reader) SecretARN(ctx context.Context, id string) (string, error) {
	var out struct{ ARN string }
	err := r.callJSON(ctx, "secretsmanager", "secretsmanager", "DescribeSecret", id, map[string]any{"SecretId": id}, &out)
	return out.ARN, err
}

// SecretValue returns a value of a secret. The stage and the version may be empty.
func (r Reader) SecretValue(ctx context.Context, id, stage, version string) (string, error) {
	in := map[string]any{"SecretId": id}
	if stage != "" {
		in["VersionStage"] = stage
	}
	if version != "" {
		in["VersionId"] = version
	}
	var out struct{ SecretString string }
	err := r.callJSON(ctx, "secretsmanager", "secretsmanager", "GetSecretValue", id, in, &out)
	return out.SecretString, err
}

const cloudFormationVersion = "2010-05-15"

// StackOutput returns an output of a stack of CloudFormation.
func (r Reader) StackOutput(ctx context.Context, stack, key string) (string, error) {
	var out struct {
		Outputs []struct {
			Key   string `xml:"OutputKey"`
			Value string `xml:"OutputValue"`
		} `xml:"DescribeStacksResult>Stacks>member>Outputs>member"`
	}
	err := r.callQuery(ctx, "cloudformation", cloudFormationVersion, "DescribeStacks", stack,
		url.Values{"StackName": {stack}}, &out)
	if err != nil {
		return "", err
	}
	for _, o := range out.Outputs {
		if o.Key == key {
			return o.Value, nil
		}
	}
	return "", notFound("cloudformation:DescribeStacks", stack, fmt.Sprintf("the stack has no output %s", key))
}

// Export returns an export of the stacks of CloudFormation.
func (r Reader) Export(ctx context.Context, name string) (string, error) {
	in := url.Values{}
	for {
		var out struct {
			Exports []struct{ Name, Value string } `xml:"ListExportsResult>Exports>member"`
			Next    string                         `xml:"ListExportsResult>NextToken"`
		}
		err := r.callQuery(ctx, "cloudformation", cloudFormationVersion, "ListExports", name, in, &out)
		if err != nil {
			return "", err
		}
		for _, e := range out.Exports {
			if e.Name == name {
				return e.Value, nil
			}
		}
		if out.Next == "" {
			return "", notFound("cloudformation:ListExports", name, "no stack of the Region has this export")
		}
		in.Set("NextToken", out.Next)
	}
}

// Object returns an object of S3.
func (r Reader) Object(ctx context.Context, bucket, key string) ([]byte, error) {
	return r.callPath(ctx, "s3", http.MethodGet, "GetObject", bucket+"/"+key, objectPath(bucket, key))
}

// FindObject returns an error if an object of S3 does not exist. HEAD needs the permission s3:GetObject, and is named so.
func (r Reader) FindObject(ctx context.Context, bucket, key string) error {
	_, err := r.callPath(ctx, "s3", http.MethodHead, "GetObject", bucket+"/"+key, objectPath(bucket, key))
	return err
}

func objectPath(bucket, key string) string {
	parts := strings.Split(bucket+"/"+key, "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(url.QueryEscape(p), "+", "%20")
	}
	return "/" + strings.Join(parts, "/")
}
