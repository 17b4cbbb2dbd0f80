/** A kind with the shape of a Deployment, for the tests of managed fields: sets, maps with default keys, atomic parts. */
import { customKind } from '../../../../../core/apiserver/crd/custom-kind.ts';
import type { SchemaProps } from '../../../../../core/apiserver/crd/definition.ts';
import type { Kind } from '../../../../../core/apiserver/space.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';

const string: SchemaProps = { type: 'string' };
const integer: SchemaProps = { type: 'integer' };
const object = (properties: Record<string, SchemaProps>, more: SchemaProps = {}): SchemaProps => ({
  type: 'object',
  properties,
  ...more,
});
const listMap = (keys: string[], items: SchemaProps): SchemaProps => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  items,
});
const strings: SchemaProps = { type: 'object', additionalProperties: string };

const container = object({
  name: string,
  image: string,
  command: { type: 'array', items: string },
  env: listMap(['name'], object({ name: string, value: string })),
  ports: listMap(
    ['containerPort', 'protocol'],
    object({ name: string, containerPort: integer, protocol: { type: 'string', default: 'TCP' } }),
  ),
  resources: object({ limits: strings, requests: strings }),
});

const schema = object({
  spec: object({
    replicas: integer,
    paused: { type: 'boolean' },
    tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: string },
    selector: object({ matchLabels: strings }, { 'x-kubernetes-map-type': 'atomic' }),
    strategy: object({ type: string, rollingUpdate: object({ maxSurge: integer }) }),
    template: object({
      metadata: object({ labels: strings }),
      spec: object({
        containers: listMap(['name'], container),
        securityContext: object({ runAsUser: integer, fsGroup: integer }),
      }),
    }),
  }),
  status: object({ readyReplicas: integer }),
});

export const deployments: Kind = customKind({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'deployments.apps' },
  spec: {
    group: 'apps',
    scope: 'Namespaced',
    names: { plural: 'deployments', kind: 'Deployment' },
    versions: [
      { name: 'v1', served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: schema } },
    ],
  },
});

export function deployment(spec: Record<string, unknown>, metadata: Record<string, unknown> = {}): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'till', namespace: 'shop', ...metadata },
    spec,
  };
}
