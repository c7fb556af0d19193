'use strict'

const pulumi = require('@pulumi/pulumi')

const type = 'sluice:index:WaitForEcsDeployment'

class WaitForEcsDeployment extends pulumi.CustomResource {
  constructor(name, args, opts) {
    const outputs = { status: undefined, failureMessage: undefined, outcome: undefined, reasons: undefined,
      rolledBackTo: undefined, timeoutMs: undefined, bakeMs: undefined, failOnError: undefined, desiredTaskDef: undefined,
      deploymentId: undefined, triggers: undefined, awsRegion: undefined, assumeRole: undefined,
      endpoint: undefined }
    super(type, name, { ...outputs, ...args }, opts)
  }

  static isInstance(obj) {
    return obj !== undefined && obj !== null && obj.__pulumiType === type
  }
}
WaitForEcsDeployment.__pulumiType = type

exports.WaitForEcsDeployment = WaitForEcsDeployment
