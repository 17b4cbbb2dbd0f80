import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { checkSchema, problemsText } from '../../../../core/runtime/schema-problems.ts';
import { refusing } from '../../../../core/runtime/schema-words.ts';
import { sources } from '../../house/imports.ts';

const schema = z.strictObject({
  name: z.string().min(1).max(5).optional(),
  port: z.number().int().min(1).max(65_535).optional(),
  share: z.number().min(0).max(1).optional(),
  on: z.boolean().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  items: z
    .array(z.strictObject({ name: z.string() }))
    .min(1)
    .optional(),
  kind: z.literal('Topology').optional(),
  type: z.enum(['Workload', 'Inventory', 'System']).optional(),
  address: z
    .string()
    .regex(/:/, { error: refusing('write host:port') })
    .optional(),
  token: z.string().optional(),
  size: z.union([z.number(), z.string()]).optional(),
  pki: z
    .union([z.strictObject({ cert: z.string(), key: z.string() }), z.strictObject({ join: z.string() })])
    .optional(),
});

function textOf(value: unknown): string {
  const checked = checkSchema(schema, value);
  return 'problems' in checked ? problemsText(checked.problems, 'the file') : 'fine';
}

describe('a problem that a schema finds names field, value and remedy', () => {
  it.each<[unknown, string]>([
    [{}, 'fine'],
    [null, 'the file is empty; write a map (key: value)'],
    [[], 'the file must be a map (key: value)'],
    [{ items: [{}] }, 'items[0].name is missing'],
    [{ items: {} }, 'items must be a list (- …), and is a map'],
    [{ items: [] }, 'items is an empty list; write at least 1'],
    [{ labels: ['a'] }, 'labels must be a map (key: value), and is a list'],
    [{ labels: { n: 5 } }, 'labels.n: 5 is a number; write "5"'],
    [{ labels: { n: true } }, 'labels.n: true is a boolean; write "true"'],
    [{ labels: { n: null } }, 'labels.n is empty; write text'],
    [{ name: '' }, 'name is empty; write text'],
    [{ name: 'Europe' }, 'name has 6 characters; write at most 5'],
    [{ on: 'yes' }, 'on: "yes" is text; write true or false'],
    [{ port: 99_999 }, 'port: 99999 is too large; at most 65535'],
    [{ port: 0 }, 'port: 0 is too small; at least 1'],
    [{ port: 1.5 }, 'port: 1.5 is not a whole number'],
    [{ port: '80' }, 'port: "80" is text; write 80'],
    [{ share: 'half' }, 'share: "half" is text; write a number'],
    [{ kind: 'Pod' }, 'kind must be "Topology", and is "Pod"'],
    [{ type: 'Workloads' }, 'type: "Workloads" is no type; did you mean "Workload"?'],
    [{ type: 'x' }, 'type: "x" is no type; write Workload, Inventory or System'],
    [{ address: 'x' }, 'address: "x": write host:port'],
    [{ nam: 'x' }, 'nam: unknown key "nam"; did you mean "name"?'],
    [{ size: [] }, 'size must be a number or text, and is a list'],
    [{ pki: {} }, 'pki must have either cert, key, or join'],
    [{ pki: 'x' }, 'pki must be a map (key: value), and is "x"'],
    [{ pki: { cert: 'x' } }, 'pki.key is missing'],
    [{ pki: { join: 'x', cert: 'y' } }, 'pki.cert must not be beside join; remove one'],
    [
      { pki: { joins: 'x' } },
      'pki must have either cert, key, or join; pki.joins: unknown key "joins"; did you mean "join"?',
    ],
  ])('%j: %s', (value, text) => {
    expect(textOf(value)).toBe(text);
  });

  it('lists the known keys if no key is similar', () => {
    expect(textOf({ metrix: 1 })).toMatch(/^metrix: unknown key "metrix"; known keys are: name, port, /);
  });

  it('shows no value that may be secret, and only the beginning of a long value', () => {
    expect(textOf('root:x:0:0')).toBe('the file must be a map (key: value)');
    expect(textOf({ token: 12_345 })).toBe('token must be text');
    expect(textOf({ address: 'x'.repeat(1_000) })).toBe(`address: "${'x'.repeat(60)}…": write host:port`);
  });
});

it('no other code turns the issues of a schema into text', () => {
  const others = [...sources().keys()].filter(
    (file) =>
      file !== 'core/runtime/schema-problems.ts' &&
      /\.issues\.(map|flatMap)|\.issues\[|\] = .*\.issues;/.test(readFileSync(file, 'utf8')),
  );
  expect(others).toEqual([]);
});
