/**
 * The syntax of texts in built-in kinds, with the messages of Kubernetes (apimachinery's util/validation). `object/names.ts` has shorter messages, for kinds
 * of the mesh.
 */
import type { TextCheck } from './visit.ts';

const qualifiedForm = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelForm = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const underscoreForm = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const subdomainForm = `${labelForm}(\\.${labelForm})*`;
const label1035Form = '[a-z]([-a-z0-9]*[a-z0-9])?';
const pathForm = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";

const whole = (form: string) => new RegExp(`^${form}$`);
const subdomain = whole(subdomainForm);
const label = whole(labelForm);
const qualified = whole(qualifiedForm);
const httpPath = whole(pathForm);

const qualifiedWords =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const empty = 'must be non-empty';

function tooLong(characters: number): string {
  return `must be no more than ${characters} characters`;
}

function notOfForm(words: string, form: string, ...examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return examples.length === 0
    ? `${words} (regex used for validation is '${form}')`
    : `${words} (e.g. ${shown}regex used for validation is '${form}')`;
}

function ofForm(max: number, form: string, words: string, ...examples: readonly string[]): TextCheck {
  const pattern = whole(form);
  const mistake = notOfForm(words, form, ...examples);
  return (text) => [...(Buffer.byteLength(text) > max ? [tooLong(max)] : []), ...(pattern.test(text) ? [] : [mistake])];
}

export const dnsSubdomain = ofForm(
  253,
  subdomainForm,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  'example.com',
);

export const dnsSubdomainOrUnderscore = ofForm(
  253,
  `${underscoreForm}(\\.${underscoreForm})*`,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
  'example.com',
);

export const wildcardSubdomain = ofForm(
  253,
  `\\*\\.${subdomainForm}`,
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  '*.example.com',
);

export const dns1035Label = ofForm(
  63,
  label1035Form,
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  'my-name',
  'abc-123',
);

export const labelValue = ofForm(
  63,
  `(${qualifiedForm})?`,
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  'MyValue',
  'my_value',
  '12345',
);

export const percent = ofForm(
  Infinity,
  '[0-9]+%',
  "a valid percent string must be a numeric string followed by an ending '%'",
  '1%',
  '93%',
);

export const headerName = ofForm(
  Infinity,
  '[-A-Za-z0-9]+',
  "a valid HTTP header must consist of alphanumeric characters or '-'",
  'X-Header-Name',
);

const labelMistake = notOfForm(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  labelForm,
  'my-name',
  '123-abc',
);

export const dnsLabel: TextCheck = (text) => {
  const long = text.length > 63 ? [tooLong(63)] : [];
  if (label.test(text)) return long;
  return [...long, subdomain.test(text) ? 'must not contain dots' : labelMistake];
};

const configKeyForm = ofForm(
  253,
  '[-._a-zA-Z0-9]+',
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  'key.name',
  'KEY_NAME',
  'key-name',
);

export const configKey: TextCheck = (text) => {
  if (text === '.' || text === '..') return [...configKeyForm(text), `must not be '${text}'`];
  return [...configKeyForm(text), ...(text.startsWith('..') ? ["must not start with '..'"] : [])];
};

/** A name with an optional prefix: keys of labels and annotations, names of resources. */
export const qualifiedName: TextCheck = (text) => {
  const parts = text.split('/');
  const name = parts.at(-1)!;
  const formMistake = notOfForm(qualifiedWords, qualifiedForm, 'MyName', 'my.name', '123-abc');
  if (parts.length > 2) {
    return [
      `a qualified name ${formMistake} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const [prefix] = parts.length === 2 ? parts : [];
  const prefixMistakes = prefix === undefined ? [] : prefix === '' ? [empty] : dnsSubdomain(prefix);
  const sizeMistakes = name === '' ? [empty] : name.length > 63 ? [tooLong(63)] : [];
  return [
    ...prefixMistakes.map((mistake) => `prefix part ${mistake}`),
    ...sizeMistakes.map((mistake) => `name part ${mistake}`),
    ...(qualified.test(name) ? [] : [`name part ${formMistake}`]),
  ];
};

export const portName: TextCheck = (text) => [
  ...(text.length > 15 ? [tooLong(15)] : []),
  ...(/^[-a-z0-9]+$/.test(text) ? [] : ['must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)']),
  ...(/[a-z]/.test(text) ? [] : ['must contain at least one letter (a-z)']),
  ...(text.includes('--') ? ['must not contain consecutive hyphens'] : []),
  ...(text.startsWith('-') || text.endsWith('-') ? ['must not begin or end with a hyphen'] : []),
];

export const variableName: TextCheck = (text) => [
  ...(text === '' ? [`environment variable name ${empty}`] : []),
  ...(/^[\x20-\x3c\x3e-\x7e]*$/.test(text)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"]),
];

/** Roles and other names that only have to be a part of a URL. */
export const pathSegment: TextCheck = (text) => {
  if (text === '.' || text === '..') return [`may not be '${text}'`];
  return ['/', '%']
    .filter((character) => text.includes(character))
    .map((character) => `may not contain '${character}'`);
};

/** Undefined: the text is a path with the domain of its owner, such as `acme.io/foo`. Otherwise [the wrong part, the mistake]. */
export function domainPrefixedPath(text: string): [string, string][] {
  const cut = text.indexOf('/');
  const host = text.slice(0, cut);
  const path = text.slice(cut + 1);
  if (cut < 1 || path === '') return [[text, 'must be a domain-prefixed path (such as "acme.io/foo")']];
  return [
    ...dnsSubdomain(host).map((mistake): [string, string] => [host, mistake]),
    ...(httpPath.test(path) ? [] : [[path, notOfForm('Invalid path', pathForm)] as [string, string]]),
  ];
}

/** The name of a webhook: at least three segments. */
export const fullyQualifiedName: TextCheck = (text) => {
  const mistakes = dnsSubdomain(text);
  if (mistakes.length > 0) return [mistakes.join(',')];
  return text.split('.').length < 3 ? ['should be a domain with at least three segments separated by dots'] : [];
};

export const noBacksteps: TextCheck = (text) => (text.split('/').includes('..') ? ["must not contain '..'"] : []);

export const localPath: TextCheck = (text) => [
  ...(text.startsWith('/') ? ['must be a relative path'] : []),
  ...noBacksteps(text),
];

export const localNonReservedPath: TextCheck = (text) => [
  ...localPath(text),
  ...(text.startsWith('..') && !text.startsWith('../') ? ["must not start with '..'"] : []),
];
