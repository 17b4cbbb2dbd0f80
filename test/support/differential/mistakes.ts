/**
 * The mistakes of people, written by hand: requests that an API server refuses, or takes with a warning. `test/fixtures/validation/mistakes.txt` has them, each with a
 * name, method, path, perhaps a media type, and the body. A request with the method SETUP makes an object for those behind it.
 */
import { readFileSync } from 'node:fs';
import type { Question } from './questions.ts';

export interface Mistake extends Question {
  readonly name: string;
  /** The object of the body is stored. */
  readonly isSetup: boolean;
}

const file = new URL('../../fixtures/validation/mistakes.txt', import.meta.url);

export function mistakes(): readonly Mistake[] {
  return readFileSync(file, 'utf8').trimEnd().split('\n----\n').map(read);
}

function read(text: string): Mistake {
  const [title = '', request = '', ...lines] = text.split('\n');
  const [method = '', path = '', given] = request.split(' ');
  const isSetup = method === 'SETUP';
  const body = lines.join('\n');
  const type = given ?? (body.startsWith('{') ? 'application/json' : 'application/yaml');
  return {
    name: title.slice(2),
    isSetup,
    method: isSetup ? 'POST' : (method as Question['method']),
    url: isSetup ? path : withOptions(path),
    type,
    body,
  };
}

/** As kubectl sends a request, and without an effect. */
function withOptions(path: string): string {
  const [place = '', query = ''] = path.split('?');
  const options = new URLSearchParams(query);
  for (const [name, value] of [
    ['dryRun', 'All'],
    ['fieldValidation', 'Strict'],
  ] as const) {
    if (!options.has(name)) options.set(name, value);
  }
  return `${place}?${options}`;
}
