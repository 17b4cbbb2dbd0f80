/** CustomResourceDefinitions, most of them wrong, from `test/fixtures/definitions.jsonl`. Each line has a name, and the changes of a plain definition. */
import { readFileSync } from 'node:fs';
import type { CustomResourceDefinition } from '../../core/apiserver/crd/definition.ts';

export interface DefinitionCase {
  readonly name: string;
  readonly definition: CustomResourceDefinition;
}

/** Values by the path of their field. null: the field is removed. */
export type Changes = Readonly<Record<string, unknown>>;

const schemaPath = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a';

export function plainDefinition(changes: Changes = {}): CustomResourceDefinition {
  const spec = { type: 'object', properties: { a: { type: 'string' } } };
  const openAPIV3Schema = { type: 'object', properties: { spec, status: { type: 'object' } } };
  const definition: CustomResourceDefinition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.t.example.com' },
    spec: {
      group: 't.example.com',
      scope: 'Namespaced',
      names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
  return changed(definition, changes);
}

/** Changes the definition in place. */
export function changed<T extends object>(definition: T, changes: Changes): T {
  for (const [path, value] of Object.entries(changes)) {
    const names = path.split('/').slice(1);
    const last = names.pop()!;
    let place = definition as Record<string, unknown>;
    for (const name of names) place = place[name] as Record<string, unknown>;
    if (value === null) Reflect.deleteProperty(place, last);
    else place[last] = value;
  }
  return definition;
}

export function definitionCases(): DefinitionCase[] {
  const file = new URL('../fixtures/definitions.jsonl', import.meta.url);
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const [name, { schema, set }] = JSON.parse(line) as [string, { schema?: unknown; set?: Changes }];
      return { name, definition: plainDefinition(set ?? { [schemaPath]: schema }) };
    });
}
