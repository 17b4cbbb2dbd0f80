/** Short helpers for the tests of custom resources: a definition and its objects. */
import { customKind } from '../../../../../core/apiserver/crd/custom-kind.ts';
import type {
  CustomResourceDefinition,
  DefinitionVersion,
  SchemaProps,
} from '../../../../../core/apiserver/crd/definition.ts';
import type { Kind } from '../../../../../core/apiserver/space.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';

export function boards(spec: SchemaProps, more: Partial<DefinitionVersion> = {}): CustomResourceDefinition {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'boards.shop.example.com' },
    spec: {
      group: 'shop.example.com',
      scope: 'Namespaced',
      names: { plural: 'boards', singular: 'board', kind: 'Board', listKind: 'BoardList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
          ...more,
        },
      ],
    },
  };
}

export function board(spec: unknown): KubeObject {
  return { apiVersion: 'shop.example.com/v1', kind: 'Board', metadata: { name: 'b', namespace: 'shop' }, spec };
}

/** The remaining `spec`, and the unknown fields. */
export function prepared(schema: SchemaProps, spec: unknown): { spec: unknown; unknown: string[] } {
  const object = board(structuredClone(spec));
  const unknown = customKind(boards(schema)).rules.prepare(object, 'v1');
  return { spec: object.spec, unknown };
}

/** `field: message` of each cause. */
export function problems(schema: SchemaProps, spec: unknown, old?: unknown): string[] {
  return problemsOf(customKind(boards(schema)), spec, old);
}

export function problemsOf(kind: Kind, spec: unknown, old?: unknown): string[] {
  const causes = kind.rules.validate(board(spec), 'v1', old === undefined ? undefined : board(old));
  return causes.map(({ field, message }) => `${field}: ${message}`);
}
