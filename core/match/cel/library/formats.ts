/** The format library of Kubernetes (k8s.io/apiserver/pkg/cel/library/format.go): named formats, which name the mistakes of a text. */
import type { Environment } from '@marcbachmann/cel-js';
import { Optional } from '@marcbachmann/cel-js';
import { isDate, isDateTime } from '../../../object/date-formats.ts';
import { definer } from './define.ts';
import { namespace } from './namespaces.ts';
import { parse } from './url.ts';

const type = 'kubernetes.NamedFormat';

/** Returns the mistakes of a text. */
type Check = (text: string) => string[];

export class NamedFormat {
  readonly mistakesOf: Check;

  constructor(mistakesOf: Check) {
    this.mistakesOf = mistakesOf;
  }
}

interface Rule {
  readonly pattern: string;
  readonly message: string;
  readonly examples: readonly string[];
}

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const qualified = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const characters = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const rules = {
  dns1123Label: {
    pattern: label,
    message:
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
    examples: ['my-name', '123-abc'],
  },
  dns1123Subdomain: {
    pattern: `${label}(\\.${label})*`,
    message:
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
    examples: ['example.com'],
  },
  dns1035Label: {
    pattern: '[a-z]([-a-z0-9]*[a-z0-9])?',
    message:
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
    examples: ['my-name', 'abc-123'],
  },
  qualifiedName: {
    pattern: qualified,
    message: `must consist of ${characters}`,
    examples: ['MyName', 'my.name', '123-abc'],
  },
  labelValue: {
    pattern: `(${qualified})?`,
    message: `a valid label must be an empty string or consist of ${characters}`,
    examples: ['MyValue', 'my_value', '12345'],
  },
} satisfies Record<string, Rule>;

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;
const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

const checks: Readonly<Record<string, Check>> = {
  dns1123Label: dnsLabel,
  dns1123LabelPrefix: (text) => dnsLabel(asWhole(text)),
  dns1123Subdomain: subdomainMistakes,
  dns1123SubdomainPrefix: (text) => subdomainMistakes(asWhole(text)),
  dns1035Label: dns1035LabelMistakes,
  dns1035LabelPrefix: (text) => limited(asWhole(text), 63, rules.dns1035Label),
  qualifiedName,
  labelValue: (text) => limited(text, 63, rules.labelValue),
  uri: (text) => {
    try {
      parse(text);
      return [];
    } catch (error) {
      return [String((error as Error).message).replace(/^.*?: (?=parse )/, '')];
    }
  },
  uuid: (text) => (uuid.test(text) ? [] : ['does not match the UUID format']),
  byte: (text) => (base64.test(text) ? [] : ['invalid base64']),
  date: (text) => (isDate(text) ? [] : ['invalid date']),
  datetime: (text) => (isDateTime(text) ? [] : ['invalid datetime']),
};

export function addFormats(environment: Environment): void {
  const define = definer(environment);
  environment.registerType(type, NamedFormat);
  const formats = new Map(Object.entries(checks).map(([name, check]) => [name, new NamedFormat(check)]));
  environment.registerOperator(`${type} == ${type}`, (a: NamedFormat, b: NamedFormat) => a === b);
  define(`${namespace('format')}.named(string): optional<${type}>`, (_, name: string) =>
    Optional.of(formats.get(name) as unknown),
  );
  for (const [name, format] of formats) define(`${namespace('format')}.${name}(): ${type}`, () => format);
  define(`${type}.validate(string): optional<list<string>>`, (format: NamedFormat, text: string) => {
    const mistakes = format.mistakesOf(text);
    return mistakes.length === 0 ? Optional.none() : Optional.of(mistakes as unknown);
  });
}

/** A prefix of names may end with a dash. */
function asWhole(prefix: string): string {
  return prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -2)}a` : prefix;
}

function dnsLabel(text: string): string[] {
  const mistakes = limited(text, 63, rules.dns1123Label);
  const isWithDots = !matches(text, rules.dns1123Label) && matches(text, rules.dns1123Subdomain);
  return isWithDots ? [...mistakes.slice(0, -1), 'must not contain dots'] : mistakes;
}

export function dns1035LabelMistakes(text: string): string[] {
  return limited(text, 63, rules.dns1035Label);
}

export function subdomainMistakes(text: string): string[] {
  return limited(text, 253, rules.dns1123Subdomain);
}

function qualifiedName(text: string): string[] {
  const parts = text.split('/');
  if (parts.length > 2) {
    return [
      `a qualified name ${explained(rules.qualifiedName)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const [name = '', prefix] = [parts.at(-1), parts.length === 2 ? parts[0] : undefined];
  const ofPrefix = prefix === '' ? ['must be non-empty'] : prefix === undefined ? [] : subdomainMistakes(prefix);
  const ofName = [...(name === '' ? ['must be non-empty'] : []), ...limited(name, 63, rules.qualifiedName)];
  return [...ofPrefix.map((mistake) => `prefix part ${mistake}`), ...ofName.map((mistake) => `name part ${mistake}`)];
}

function limited(text: string, max: number, rule: Rule): string[] {
  return [
    ...(Buffer.byteLength(text) > max ? [`must be no more than ${max} characters`] : []),
    ...(matches(text, rule) ? [] : [explained(rule)]),
  ];
}

function matches(text: string, { pattern }: Rule): boolean {
  return new RegExp(`^${pattern}$`).test(text);
}

/** With the commas of Kubernetes. */
function explained({ pattern, message, examples }: Rule): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return `${message} (e.g. ${shown}regex used for validation is '${pattern}')`;
}
