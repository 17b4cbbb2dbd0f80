import { afterAll, describe, expect, it } from 'vitest';
import {
  bodyBytesMax,
  type MediaType,
  mediaTypeOf,
  parseRequestBody,
  readBody,
} from '../../../../../core/apiserver/http/body.ts';
import { BodyThread } from '../../../../../core/apiserver/http/body-thread.ts';
import { decodeProtobuf } from '../../../../../core/apiserver/protobuf/decode.ts';
import { jsonValuesMax } from '../../../../../core/object/json-bounds.ts';
import { systemClock } from '../../../../../core/runtime/clock.ts';
import { bytes, envelope } from '../protobuf/wire-writer.ts';
import { refusalOf } from './handler-errors.ts';

const thread = new BodyThread(systemClock);
afterAll(() => thread.end());
const read = (body: string | Buffer, media: MediaType) =>
  parseRequestBody(Buffer.from(body), media, decodeProtobuf, (text) =>
    thread.readYaml({ flow: 'a', bytes: text.length }, text, () => false),
  );
const yaml = (text: string) => read(text, 'yaml');
const keys = Array.from({ length: jsonValuesMax - 1 }, (_, i) => `k${i}: 1`);
/** The maximum size of a body. */
const filled = (unit: string) => unit.repeat(Math.floor(1_500_000 / unit.length));

describe('a body that comes in pieces', () => {
  const received = async (length: number) => {
    let pauses = 0;
    const pieces = (async function* () {
      for (let left = length; left > 0; left -= 65_536) yield Buffer.alloc(Math.min(left, 65_536), 'x');
    })();
    const body = await readBody(pieces, async () => void pauses++).catch((error: Error) => error.message);
    return [typeof body === 'string' ? body : body.length, pauses];
  };

  it('is read without a pause up to the limit', async () => {
    expect(await received(bodyBytesMax)).toEqual([bodyBytesMax, 0]);
  });

  it('is read to the end beyond the limit, with a pause for each 256 KiB, and refused', async () => {
    const refused = `Request entity too large: limit is ${bodyBytesMax}, got 2621440 bytes: split the object into smaller ones`;
    expect(await received(2_621_440)).toEqual([refused, 4]);
  });
});

describe('YAML', () => {
  it('may have as many keys as a body: a pairwise comparison would take minutes', async () => {
    expect(Object.keys((await yaml(keys.join('\n'))) as object)).toHaveLength(jsonValuesMax - 1);
  });

  it('is refused with the position of a repeated key, short or long', async () => {
    const short = await refusalOf(yaml('a: {b: 1, c: [1, {d: 1, d: 2}]}\n'));
    expect(short.message).toMatch(/\n {2}line 1: key "d" already set in map$/);
    const long = await refusalOf(yaml([...keys, 'k5: 2'].join('\n')));
    expect([long.code, long.message]).toEqual([
      'BadRequest',
      expect.stringMatching(/\n {2}line 50000: key "k5" already set in map$/),
    ]);
  });

  it('gives the same object, read at once or in the thread', async () => {
    const text = "a: {b: [1, 2.5, 'x', null, true], c: &c {d: |\n    e\n}, f: *c}\nü: 2001-01-01\n";
    const padded = `${text}${'# padded\n'.repeat(500)}`;
    const flat = text.replace('|\n    e\n', 'e');
    expect(await yaml(`${flat}${'# padded\n'.repeat(500)}`)).toEqual(await yaml(flat));
    const wrong = [await refusalOf(yaml(text)), await refusalOf(yaml(padded))];
    expect(wrong[1]!.message).toBe(wrong[0]!.message);
  });

  it('that the parser refuses gives the same error, at once or in the thread', async () => {
    const many = `- &a [x]\n${'- *a\n'.repeat(60)}`;
    const bomb = `${many}- &b [${'*a,'.repeat(60)}]\n- [${'*b,'.repeat(60)}]\n`;
    const messages = [];
    for (const text of [bomb, `${bomb}${'# padded\n'.repeat(500)}`])
      messages.push((await refusalOf(yaml(text))).message);
    expect(messages[0]).toMatch(/^the object provided is unrecognized \(must be valid yaml\): Excessive alias count/);
    expect(messages[1]).toBe(messages[0]);
  });

  it('does not block the event loop while it is read', async () => {
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    turn();
    expect(await yaml(`x: [${'[],'.repeat(jsonValuesMax - 2)}]`)).toBeDefined();
    isOver = true;
    expect(turns).toBeGreaterThan(10);
  });

  it.each([
    ['brackets', `x: ${filled('[')}`],
    ['closed brackets', `x: ${'['.repeat(700_000)}${']'.repeat(700_000)}`],
    ['braces', filled('{a: ')],
    ['sequences', filled('- ')],
    ['keys', filled('? ')],
    ['the least that is too deep', `x: ${'['.repeat(501)}${']'.repeat(501)}`],
  ])('that is nested too deep is refused before it is parsed: %s', async (_, text) => {
    const { code, message } = await refusalOf(yaml(text));
    expect([code, message]).toEqual([
      'BadRequest',
      'the body is nested more than 500 levels deep: make it flatter, or write it as a string',
    ]);
  });

  it('may have any number of brackets and dashes in its texts', async () => {
    const text = filled('[{- ? ').slice(0, 60_000);
    const body = `a: "${text}"\nb: '${text}'\nc: |\n  ${text}\nd: x${text.replaceAll(/[?]/g, '')}\n`;
    expect(await yaml(body)).toMatchObject({ a: text, b: text, c: `${text}\n` });
  });

  it('that expands to a large value is refused like the same body in JSON', async () => {
    const { code, message } = await refusalOf(yaml(`a: &a "${'x'.repeat(100_000)}"\nb: [${'*a,'.repeat(40)}]\n`));
    expect([code, message]).toEqual([
      'TooLarge',
      expect.stringMatching(/^Request entity too large: limit is 1572864, as JSON/),
    ]);
  });
});

describe('a body with too many fields and items', () => {
  const { length } = keys;
  const containers = Buffer.concat(Array.from({ length: jsonValuesMax }, () => bytes(2, '')));

  it.each([
    ['json', `[${'1,'.repeat(length)}1,1]`],
    ['json', `[${'{},'.repeat(length)}1]`],
    ['merge-patch', `{${keys.map((key) => `"${key}":1`).join()},"a":1,"b":1}`],
    ['yaml', '- 1\n'.repeat(2 * jsonValuesMax + 1)],
    ['protobuf', envelope('v1', 'Pod', bytes(2, containers))],
  ] as const)('in %s is refused before it is parsed, with the bound', async (media, body) => {
    const { code, message } = await refusalOf(read(body, media));
    expect([code, message]).toEqual([
      'TooLarge',
      'Request entity too large: the body has more than 50000 fields and items: split the object into smaller ones, or put the data in as one text',
    ]);
  });

  it('is not counted by characters inside texts', async () => {
    const text = '[{\\",:'.repeat(60_000);
    expect(await read(`{"a":"${text}"}`, 'json')).toEqual({ a: '[{",:'.repeat(60_000) });
    expect(Object.keys((await read(`{${keys.map((key) => `"${key}":1`).join()}}`, 'json')) as object)).toHaveLength(
      length,
    );
  });
});

it('a body that is nested too deep is refused at the point where it begins, closed or not', async () => {
  for (const body of [filled('['), `{"spec":{"a":${filled('{"a":')}`]) {
    const { code, message } = await refusalOf(read(body, 'json'));
    expect([code, message]).toEqual([
      'BadRequest',
      expect.stringMatching(/^(0\.0|spec\.a)\..*\.\.\.: it is nested more than 500/),
    ]);
  }
});

it('a number that is as long as a body is quoted in part', async () => {
  expect((await refusalOf(read(filled('1'), 'json'))).message.length).toBeLessThan(300);
});

describe('the type of a body', () => {
  it.each(['text/plain', 'constructor', '__proto__', 'toString'])('is refused: %s', (type) => {
    expect(() => mediaTypeOf(type)).toThrow(`unknown format (${type.toLowerCase()})`);
  });
});
