// The resources of @pulumi/aws that the example uses. The engine of the tests creates them in the local AWS.
const pulumi = require('@pulumi/pulumi')

const resource = (type, outputs) => class extends pulumi.CustomResource {
  constructor(name, args, opts) {
    super(type, name, { ...Object.fromEntries(outputs.map((o) => [o, undefined])), ...args }, opts)
  }
}

exports.ecs = {
  Cluster: resource('aws:ecs/cluster:Cluster', ['arn', 'name']),
  TaskDefinition: resource('aws:ecs/taskDefinition:TaskDefinition', ['arn']),
  Service: resource('aws:ecs/service:Service', ['name']),
}
