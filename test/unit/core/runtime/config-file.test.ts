import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { parseConfig, readBytes } from '../../../../core/runtime/config-file.ts';

const schema = z.strictObject({ path: z.string(), api: z.strictObject({ port: z.number() }) });
const parse = (text: string) => parseConfig(text, 'node.yaml', schema, 'configuration of a node');

describe('a configuration file', () => {
  it.each<[string, string, string]>([
    ['with wrong fields', 'path: eu\napi:\n  port: x\n', 'node.yaml:3: api.port: "x" is text; write a number'],
    ['without a field', 'api: {port: 1}\n', 'node.yaml:1: path is missing'],
    [
      'with several problems',
      'pat: eu\napi: {port: 1}\n',
      'node.yaml:1: path is missing\nnode.yaml:1: pat: unknown key "pat"; did you mean "path"?',
    ],
    ['that is empty', '', 'node.yaml: the file is empty'],
    ['with other text', 'hello', 'node.yaml: the file is no configuration of a node: write a map (key: value)'],
    ['with two documents', 'path: eu\n---\npath: us\n', 'node.yaml:2: the file has 2 documents; keep one'],
    ['with a key twice', 'path: eu\npath: us\n', 'node.yaml:2: not YAML: Map keys must be unique'],
    [
      'with an alias of nothing',
      'path: *x\n',
      'node.yaml: not YAML: Unresolved alias (the anchor must be set before the alias): x',
    ],
  ])('%s gets an error with its line', (_, text, message) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'BadRequest', message }));
  });

  it('that is not there gets an error with its name', () => {
    expect(() => readBytes('/nope/node.yaml')).toThrow(/^\/nope\/node\.yaml: can't be read: ENOENT/);
  });
});
