import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { EntryKind } from '../../../core/entries/entry-kind.ts';
import { entryKinds } from '../../../core/entries/entry-kinds.ts';
import { resetCodes } from '../../../core/stream/stream.ts';
import { parseNoProxy } from '../../../core/wire/dialer/no-proxy.ts';
import { listenerRefusals, refusals } from '../../../core/wire/refusals.ts';

const page = readFileSync('docs/protocol.md', 'utf8');
const proto = readFileSync('proto/mesh.proto', 'utf8').replaceAll(/\/\/.*$/gm, '');

/** Message -> `number name`, in the order of the file. */
function messages(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [, name = '', body = ''] of proto.matchAll(/^message (\w+) \{\n([\s\S]*?)^\}/gm)) {
    const own = body.replaceAll(/enum \w+ \{[^}]*\}/g, '');
    const fields = [...own.matchAll(/(\w+) = (\d+);/g)].map(([, field, number]) => `${number} ${field}`);
    found.set(name, fields);
  }
  return found;
}

/** Rows of the first table below a heading, as cells. */
function tableBelow(heading: string): string[][] {
  const at = page.indexOf(`${heading}\n`);
  if (at < 0) return [];
  const [, ...rest] = page.slice(at).split('\n');
  const start = rest.findIndex((line) => line.startsWith('|'));
  const stop = rest.findIndex((line) => line.startsWith('#'));
  if (start < 0 || (stop >= 0 && stop < start)) return [];
  const end = rest.findIndex((line, i) => i > start && !line.startsWith('|'));
  return rest.slice(start + 2, end).map(cellsOf);
}

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** The value of a constant, read from its file, with the constants in it that the file defines or imports. */
function constant(name: string, file: string): number {
  const source = readFileSync(file, 'utf8');
  const expression = source.match(new RegExp(`^(?:export )?const ${name} = ([^;]+);`, 'm'))?.[1];
  if (expression === undefined) {
    const from = source.match(new RegExp(`^import [^;]*\\b${name}\\b[^;]* from '([^']+)';`, 'm'))?.[1];
    if (from === undefined) throw new Error(`there is no constant ${name} in ${file}`);
    return constant(name, join(dirname(file), from));
  }
  const values = [...expression.matchAll(/[a-zA-Z]\w*/g)].map(([other]) => [other, constant(other, file)]);
  return Number(runInNewContext(expression, Object.fromEntries(values)));
}

/** Rows of `no_proxy` elements; hosts with a port, or with the port of the test. */
function exceptions(): { element: string; host: string; excepted: boolean }[] {
  const from = page.indexOf('| element ');
  const hosts = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, host = '']) => host);
  return page
    .slice(from, page.indexOf('\n\n', from))
    .split('\n')
    .slice(2)
    .map(cellsOf)
    .flatMap(([element = '', excepts, not]) => [
      ...hosts(excepts).map((host) => ({ element: element.replaceAll('`', ''), host, excepted: true })),
      ...hosts(not).map((host) => ({ element: element.replaceAll('`', ''), host, excepted: false })),
    ]);
}

/** First words of the keys that agents get or report: a second implementation is an agent. */
const keysOfAgents = (Object.values(entryKinds) as readonly EntryKind[])
  .filter((kind) => (kind.from === 'parent' ? kind.to : kind.by) !== 'relay')
  .map(({ form }) => form.split('/')[0] ?? '');

const limits = [...page.matchAll(/^\|([^|]*)\|.*`(\w+)` = ([\d.]+), `([\w./-]+)` *\|$/gm)].map(
  ([, what = '', name = '', value = '', file = '']) => ({ what: what.trim(), name, value: Number(value), file }),
);

/** Files that the page names, by their path or its end; `*` stands for any part of a name. */
const namedFiles = [...new Set([...page.matchAll(/`([\w*./-]+\.(?:txt|ts|proto))`/g)].map(([, file = '']) => file))];
const presentFiles = ['core', 'relay', 'proto', 'test'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
);

describe('the page of the protocol', () => {
  it('names every frame, with its number', () => {
    const frames = [...proto.matchAll(/^ {4}(\w+) \w+ = (\d+);$/gm)].map(([, name, number]) => `${number} \`${name}\``);
    expect(frames.length).toBeGreaterThan(15);
    expect(tableBelow('## Frames').map(([number, name]) => `${number} ${name}`)).toEqual(frames);
  });

  it.each([...messages()].filter(([name]) => name !== 'Frame'))(
    'names every field of %s, with its number',
    (name, fields) => {
      const named = tableBelow(`### ${name}`).map(([number, field = '']) => `${number} ${field.replaceAll('`', '')}`);
      expect(named.sort()).toEqual([...fields].sort());
    },
  );

  it.each(limits)('gives for "$what" the value of $name', ({ name, value, file }) => {
    expect(constant(name, file)).toBe(value);
  });

  it.each(namedFiles)('names the file %s, which is there', (file) => {
    const pattern = new RegExp(`(^|/)${file.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`);
    expect(presentFiles.filter((present) => pattern.test(present))).not.toEqual([]);
  });

  it('has a limit in most of its rows', () => {
    expect(limits.length).toBeGreaterThan(60);
  });

  it.each(keysOfAgents)('names the entry %s in the section on entries', (key) => {
    const section = page.split(/^## /m).find((one) => one.startsWith('Entries on the wire\n'));
    const keys = [...section!.matchAll(/`([a-z-]+)[/`]/g)].map(([, found]) => found);
    expect(keys).toContain(key);
  });

  it.each(readdirSync('test/transcripts').filter((file) => file.endsWith('.txt')))('says what %s shows', (file) => {
    expect(tableBelow('## Failure cases').map((cells) => cells[2])).toContainEqual(
      expect.stringContaining(`\`${file}\``),
    );
  });

  it.each(exceptions())('states for the element $element of no_proxy whether it excepts $host', (row) => {
    const [, host = row.host, port = '7443'] = /^(\[.*\]|[^:]+):(\d+)$/.exec(row.host) ?? [];
    expect(parseNoProxy(row.element)(host, Number(port))).toBe(row.excepted);
  });

  it('has examples of such elements', () => {
    expect(exceptions().length).toBeGreaterThan(15);
  });

  it('names every reason of a refusal that is sent', () => {
    const [retry = ''] = tableBelow('### Retry')
      .map((cells) => cells[3] ?? '')
      .filter((cell) => cell.includes('busy'));
    const sentReasons = refusals.filter((reason) => !/^(no_|other|early|bad_welcome)/.test(reason));
    for (const reason of sentReasons) expect(retry).toContain(`\`${reason}\``);
  });

  it('names every reason for which a listener refuses a connection', () => {
    const [line = ''] = page.split('\n').filter((line) => line.includes('banyan_session_refusals_total'));
    for (const reason of listenerRefusals) expect(line).toContain(`\`${reason}\``);
  });

  it('lists every code of a reset', () => {
    const codes = Object.entries(resetCodes).map(([name, code]) => `${code} ${name}`);
    const rows = [...page.matchAll(/^\| (\d+) +\| (\w+) +\|/gm)].map(([, code, name]) => `${code} ${name}`);
    expect(rows).toEqual(expect.arrayContaining(codes));
  });
});
