/** A CustomResourceDefinition with one version `v1`. The plural is the kind in small letters with an s. */
export interface DefinedKind {
  readonly group: string;
  readonly kind: string;
  /** Absent: Namespaced. */
  readonly scope?: 'Namespaced' | 'Cluster';
  /** The schemas of the fields of an object. With `status`, the kind has the subresource status. */
  readonly properties: { readonly spec: object; readonly status?: object };
}

/** The schema of an object with any fields. */
export const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

export function definitionOf({ group, kind, scope = 'Namespaced', properties }: DefinedKind) {
  const singular = kind.toLowerCase();
  const plural = `${singular}s`;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, singular, kind, listKind: `${kind}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          ...(properties.status ? { subresources: { status: {} } } : {}),
          schema: { openAPIV3Schema: { type: 'object', properties } },
        },
      ],
    },
  };
}
