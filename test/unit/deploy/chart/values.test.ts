import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { transports } from '../../../../core/wire/dialer/link-options.ts';

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
  readonly enum?: readonly string[];
}

const chart = join(import.meta.dirname, '../../../../deploy/chart');
const read = (file: string) => readFileSync(join(chart, file), 'utf8');
const schema = JSON.parse(read('values.schema.json')) as Schema;
const values = parse(read('values.yaml')) as Record<string, unknown>;

/** Dotted paths of all values with a name of their own. */
function pathsOfSchema({ properties = {} }: Schema, above = ''): string[] {
  return Object.entries(properties).flatMap(([name, below]) =>
    below.properties ? pathsOfSchema(below, `${above}${name}.`) : [`${above}${name}`],
  );
}

function pathsOfValues(object: object, described: Schema, above = ''): string[] {
  return Object.entries(object).flatMap(([name, value]) => {
    const below = described.properties?.[name];
    return below?.properties ? pathsOfValues(value as object, below, `${above}${name}.`) : [`${above}${name}`];
  });
}

function groups(one: Schema): Schema[] {
  const below = Object.values(one.properties ?? {}).filter((each) => each.properties);
  return [one, ...below.flatMap(groups)];
}

describe('the values of the chart', () => {
  it('are all in its schema, and the schema has no other values', () => {
    // Helm adds `global` to every chart by itself.
    const described = pathsOfSchema(schema).filter((path) => path !== 'global');
    expect(pathsOfValues(values, schema).sort()).toEqual(described.sort());
  });

  it('refuse unknown names, at every level, and describe each value', () => {
    for (const group of groups(schema)) {
      expect(group.additionalProperties).toBe(false);
      for (const [name, { description }] of Object.entries(group.properties ?? {}))
        expect([name, description]).toEqual([name, expect.stringMatching(/\w+.*\.$|^http/)]);
    }
  });

  it('offer the transports that the agent has', () => {
    expect(schema.properties?.agent?.properties?.link?.properties?.transport?.enum).toEqual([...transports]);
  });
});
