package account

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// tagsIn returns the keys of the tags that a write adds or removes; "" for another write.
func tagsIn(input any) string {
	var keys []string
	switch i := input.(type) {
	case *awsecs.TagResourceInput:
		for _, t := range i.Tags {
			keys = append(keys, aws.ToString(t.Key))
		}
	case *awsecs.UntagResourceInput:
		keys = i.TagKeys
	case *awselb.AddTagsInput:
		for _, t := range i.Tags {
			keys = append(keys, aws.ToString(t.Key))
		}
	case *awselb.RemoveTagsInput:
		keys = i.TagKeys
	}
	return strings.Join(keys, ", ")
}

// refusedTagsAdvice returns the advice for tags that AWS refuses. They are sluice's own: no file names them.
func refusedTagsAdvice(r request) string {
	list := "aws ecs list-tags-for-resource --resource-arn "
	if strings.HasPrefix(r.operation, "elasticloadbalancing:") {
		list = "aws elbv2 describe-tags --resource-arns "
	}
	return "allow the tag " + r.tags + " in the account's tag policies, or remove unused tags (AWS allows 50): " + list + r.resource
}
