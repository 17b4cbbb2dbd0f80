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
    [
      'with a key twice',
      'path: eu\npath: us\n',
      'node.yaml:2: the key path stands twice in its map; keep one of the two',
    ],
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

/** The processor time of the whole process: other work on the machine does not count. */
function milliseconds(act: () => unknown): number {
  const before = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

describe('a huge file that is no configuration', () => {
  const message =
    'node.yaml:1: the file is nested more than 500 levels deep: make it flatter, or check that it is the right file';
  const size = 3_000_000;

  it.each(['[', '{', '- ', '? ', ': '])(
    'of %s alone gets an error with its name and a remedy, within a second',
    (sign) => {
      const text = sign.repeat(size / sign.length);
      expect(milliseconds(() => expect(() => parse(text)).toThrow(message))).toBeLessThan(1_000);
    },
  );

  it('is no trouble as one map with many keys', () => {
    const text = Array.from({ length: 30_000 }, (_, i) => `key-${i}: 1\n`).join('');
    expect(
      milliseconds(() =>
        expect(() => parse(text)).toThrow(/unknown key "key-0"[\s\S]*\nnode.yaml: 29902 more problems like these$/),
      ),
    ).toBeLessThan(10_000);
  });

  it('names twenty of its errors', () => {
    const lines = (text: string) => {
      try {
        return parse(text);
      } catch (error) {
        return (error as Error).message.split('\n').length;
      }
    };
    expect(lines(`a: ${'"" '.repeat(10_000)}`)).toBe(20);
    expect(lines('a: 1\n'.repeat(10_000))).toBe(20);
    expect(lines('--- 1\n'.repeat(10_000))).toBe(1);
  });
});
