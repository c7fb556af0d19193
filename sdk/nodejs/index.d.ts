import * as pulumi from '@pulumi/pulumi'

export interface WaitForEcsDeploymentArgs {
  /** Name or ARN of the cluster. A change replaces the resource. */
  clusterName: pulumi.Input<string>
  /** Name or ARN of the service. A change replaces the resource. */
  serviceName: pulumi.Input<string>
  /** ARN or family:revision of the task definition that must serve. Required without deploymentId. */
  desiredTaskDef?: pulumi.Input<string>
  /** ARN or ID of a service deployment, ecs-svc/<number>, or d-XXXXXXXXX of CodeDeploy. */
  deploymentId?: pulumi.Input<string>
  /** Any values. A change waits again. */
  triggers?: pulumi.Input<any>
  /** Limit of the wait in milliseconds. customTimeouts takes precedence. By default it follows from the service and is at
   * least 10 minutes. */
  timeoutMs?: pulumi.Input<number>
  /** How long all tasks must run, watched, before the wait succeeds, in milliseconds. */
  bakeMs?: pulumi.Input<number>
  /** Whether a deployment that does not succeed fails the update; true by default. */
  failOnError?: pulumi.Input<boolean>
  /** Region; by default the one of the environment or of the AWS config files. */
  awsRegion?: pulumi.Input<string>
  /** ARN of a role to assume before AWS is read. */
  assumeRole?: pulumi.Input<string>
  /** URL of all AWS services, for tests against a local AWS. */
  endpoint?: pulumi.Input<string>
}

export type Outcome =
  'succeeded' | 'failed' | 'rolled back' | 'superseded' | 'stalled' | 'timed out' | 'stopped' | 'gone'

/** Waits until a deployment of an ECS service has ended. It writes nothing to AWS. A preview does not wait. */
export declare class WaitForEcsDeployment extends pulumi.CustomResource {
  readonly clusterName: pulumi.Output<string>
  readonly serviceName: pulumi.Output<string>
  readonly desiredTaskDef: pulumi.Output<string | undefined>
  readonly deploymentId: pulumi.Output<string | undefined>
  readonly triggers: pulumi.Output<any>
  readonly timeoutMs: pulumi.Output<number | undefined>
  readonly bakeMs: pulumi.Output<number | undefined>
  readonly failOnError: pulumi.Output<boolean>
  readonly awsRegion: pulumi.Output<string | undefined>
  readonly assumeRole: pulumi.Output<string | undefined>
  readonly endpoint: pulumi.Output<string | undefined>
  readonly status: pulumi.Output<'COMPLETED' | 'FAILED'>
  /** Cause, last lines of failed containers and what to do; empty after success. */
  readonly failureMessage: pulumi.Output<string>
  readonly outcome: pulumi.Output<Outcome>
  /** The causes, the leading one first; empty after success. */
  readonly reasons: pulumi.Output<string[]>
  /** family:revision that serves after a rollback; otherwise empty. */
  readonly rolledBackTo: pulumi.Output<string>

  constructor(name: string, args: WaitForEcsDeploymentArgs, opts?: pulumi.CustomResourceOptions)
  static isInstance(obj: any): obj is WaitForEcsDeployment
}
