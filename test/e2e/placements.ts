/** A placement that sends one namespace to every cluster of `env: prod`. */
export function placedInProduction(namespace: string): object {
  return {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name: namespace },
    spec: {
      locationSelectors: [{ matchLabels: { env: 'prod' } }],
      downsync: [{ apiGroup: '*', resources: ['*'], namespaces: [namespace] }],
    },
  };
}
