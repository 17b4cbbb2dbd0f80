/**
 * Parses label selectors as Kubernetes does, with its words for mistakes:
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
 */
import { checkLabelKey, checkLabelValue } from '../../object/names.ts';
import { isInteger, type LabelRequirement } from '../../object/selector.ts';
import { BanyanError } from '../../runtime/errors.ts';

type Operator = LabelRequirement['operator'];

/** Throws BadRequest: the message names what was found and what was expected, or the key or value that no label can have. */
export function parseLabelSelector(text: string): LabelRequirement[] {
  const tokens = new Tokens(text);
  const requirements: LabelRequirement[] = [];
  while (tokens.next !== '') {
    if (tokens.next !== '!' && isSign(tokens.next)) throw found(tokens.next, "!, identifier, or 'end of string'");
    requirements.push(readRequirement(tokens));
    const after = tokens.take();
    if (after === '') break;
    if (after !== ',') throw found(after, "',' or 'end of string'");
    if (tokens.next === '' || (tokens.next !== '!' && isSign(tokens.next)))
      throw found(tokens.next, "identifier after ','");
  }
  return requirements;
}

const binaryOperators = new Map<string, Operator>([
  ['in', 'In'],
  ['notin', 'NotIn'],
  ['=', 'In'],
  ['==', 'In'],
  ['!=', 'NotIn'],
  ['>', 'Gt'],
  ['<', 'Lt'],
]);

/** Throws what `parseLabelSelector` throws, beginning with the words for a wrong requirement. */
function readRequirement(tokens: Tokens): LabelRequirement {
  const isNegated = tokens.next === '!';
  if (isNegated) tokens.take();
  const key = tokens.take();
  if (key === '' || isSign(key)) throw wrong(foundText(key, 'identifier'));
  const wrongKey = checkLabelKey(key);
  if (wrongKey) throw wrong(`<nil>: Invalid value: ${JSON.stringify(key)}: ${wrongKey}`);
  if (isNegated) return { key, operator: 'DoesNotExist' };
  if (tokens.next === '' || tokens.next === ',') return { key, operator: 'Exists' };
  const word = tokens.take();
  const operator = binaryOperators.get(word);
  if (operator === undefined) throw wrong(foundText(word, 'in, notin, =, ==, !=, gt, lt'));
  const values = word === 'in' || word === 'notin' ? readSet(tokens) : [readValue(tokens)];
  checkValues(key, operator, values);
  return { key, operator, values };
}

function checkValues(key: string, operator: Operator, values: readonly string[]): void {
  for (const [at, value] of values.entries()) {
    const shown = `Invalid value: ${JSON.stringify(value)}`;
    if ((operator === 'Gt' || operator === 'Lt') && !isInteger(value))
      throw wrong(`values[${at}]: ${shown}: for 'Gt', 'Lt' operators, the value must be an integer`);
    const mistake = checkLabelValue(value);
    if (mistake) throw wrong(`values[${at}][${key}]: ${shown}: ${mistake}`);
  }
}

function readValue(tokens: Tokens): string {
  if (tokens.next === '' || tokens.next === ',') return '';
  const value = tokens.take();
  if (isSign(value)) throw wrong(foundText(value, 'identifier'));
  return value;
}

/** The values in parentheses. Between two commas, at the ends of the list, and alone, there may be the empty value. */
function readSet(tokens: Tokens): string[] {
  const open = tokens.take();
  if (open !== '(') throw wrong(`found '${open}' expected: '('`);
  if (tokens.next === ')') {
    tokens.take();
    return [''];
  }
  if (tokens.next === '' || (isSign(tokens.next) && tokens.next !== ','))
    throw wrong(foundText(tokens.next, "',', ')' or identifier"));
  const values = new Set<string>();
  for (let isAfterComma = true; ; ) {
    const token = tokens.take();
    if (token === ',' || token === ')') {
      if (isAfterComma) values.add('');
      if (token === ')') return [...values];
      isAfterComma = true;
      continue;
    }
    if (token === '' || isSign(token)) throw wrong(foundText(token, "',', or identifier"));
    values.add(token);
    isAfterComma = false;
    if (tokens.next !== ',' && tokens.next !== ')') throw wrong(foundText(tokens.next, "',' or ')'"));
  }
}

const tokenForm = /\s*(!=|==|[!=(),<>]|[^\s!=(),<>]+)/y;

/** The signs and words of a selector. The end is the empty text. */
class Tokens {
  readonly #text: string;
  #at = 0;
  #next = '';

  constructor(text: string) {
    this.#text = text;
    this.#advance();
  }

  get next(): string {
    return this.#next;
  }

  take(): string {
    const taken = this.#next;
    this.#advance();
    return taken;
  }

  #advance(): void {
    tokenForm.lastIndex = this.#at;
    const [whole, token] = tokenForm.exec(this.#text) ?? ['', ''];
    this.#at += whole.length;
    this.#next = token!;
  }
}

function isSign(token: string): boolean {
  return /^[!=(),<>]/.test(token);
}

function foundText(token: string, expected: string): string {
  return `found '${token}', expected: ${expected}`;
}

function found(token: string, expected: string): BanyanError {
  return new BanyanError('BadRequest', foundText(token, expected));
}

function wrong(message: string): BanyanError {
  return new BanyanError('BadRequest', `unable to parse requirement: ${message}`);
}
