import * as pulumi from '@pulumi/pulumi'

declare class Cluster extends pulumi.CustomResource {
  readonly arn: pulumi.Output<string>
  readonly name: pulumi.Output<string>
  constructor(name: string, args: object, opts?: pulumi.CustomResourceOptions)
}
declare class TaskDefinition extends pulumi.CustomResource {
  readonly arn: pulumi.Output<string>
  constructor(name: string, args: object, opts?: pulumi.CustomResourceOptions)
}
declare class Service extends pulumi.CustomResource {
  readonly name: pulumi.Output<string>
  constructor(name: string, args: object, opts?: pulumi.CustomResourceOptions)
}
export declare namespace ecs {
  export { Cluster, TaskDefinition, Service }
}
