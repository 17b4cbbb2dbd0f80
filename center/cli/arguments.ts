/** Checks the arguments of the command line, before a command asks a tree. Each check throws UsageError with the field, the value and a remedy. */
import { checkPath, parentOf, pathShownAs, sharedPath } from '../../core/identity/node-path.ts';
import { hostFlaw, labelKeyFlaw, labelValueFlaw, subdomainFlaw } from '../../core/object/plain-names.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { suggest } from '../../core/runtime/suggest.ts';
import { UsageError } from './usage-error.ts';

/** Reads the path of a node, or of one replica such as `eu~1`. `center` is the root. */
export function nodePath(text: string): string {
  const path = pathShownAs(text);
  if (path === '' && text !== '') return path;
  const problem = checkPath(sharedPath(path));
  if (problem) throw new UsageError(`"${text}" is no path of a node, such as eu:paris or center: ${problem}`);
  return path;
}

/** The path of a node for `ping`, which all replicas of the path answer. */
export function pathWithoutReplica(text: string): string {
  const path = nodePath(text);
  const shared = sharedPath(path);
  if (shared === path) return path;
  const command =
    parentOf(path) === parentOf(shared) ? `; for this replica: ${cliCommand('ping', shared, '--from', path)}` : '';
  throw new UsageError(`"${text}" is one replica of ${shared}; ping takes a path, such as ${shared}${command}`);
}

export function agentPath(text: string): string {
  const problem = checkPath(text);
  if (problem) throw new UsageError(`"${text}" is no path of a node, such as eu:paris:store-17: ${problem}`);
  return text;
}

/** A DNS name or an IP address, added to those before it. */
export function host(text: string, before: readonly string[]): string[] {
  return withHost('--host', text, before);
}

/** Likewise for `--name`. */
export function nameOfApi(text: string, before: readonly string[]): string[] {
  return withHost('--name', text, before);
}

function withHost(option: string, text: string, before: readonly string[]): string[] {
  const problem = hostFlaw(text);
  if (problem) throw new UsageError(`${option}: "${text}" is neither an IP address nor a DNS name: ${problem}`);
  return [...before, text];
}

/** Throws UsageError for an option that has no effect for the role. */
export function checkRoleOptions({ relay, host: hosts, label: labels }: RoleOptions): void {
  if (!relay && hosts.length > 0)
    throw new UsageError('--host: only the certificate of a relay has hosts; add --relay');
  if (relay && Object.keys(labels).length > 0)
    throw new UsageError('--label: a relay has no Location; set `labels` in the configuration of the relay');
}

interface RoleOptions {
  readonly relay: boolean;
  readonly host: readonly string[];
  readonly label: Readonly<Record<string, string>>;
}

/** `env=prod`, added to the labels before it. */
export function label(text: string, labels: Readonly<Record<string, string>>): Record<string, string> {
  const [key = '', value, ...more] = text.split('=');
  if (value === undefined || more.length > 0) throw new UsageError(`--label: "${text}" is not of the form key=value`);
  const problem = labelKeyFlaw(key) ?? labelValueFlaw(value);
  if (problem) throw new UsageError(`--label: "${text}": ${problem}`);
  return { ...labels, [key]: value };
}

export function secretName(text: string): string {
  const problem = subdomainFlaw(text);
  if (problem) throw new UsageError(`--secret: "${text}": ${problem}`);
  return text;
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Longest validity. A secret that is valid for longer is likely to be forgotten somewhere. */
const ttlMsMax = 30 * 86_400_000;

/** Milliseconds of `30m`, `24h` or `7d`. */
export function timeToLive(text: string): number {
  const [, number, unit = ''] = /^([1-9]\d{0,5})([mhd]?)$/.exec(text) ?? [];
  if (number === undefined) throw new UsageError(`--ttl: "${text}" is no time; write 30m, 24h or 7d`);
  if (unit === '') throw new UsageError(`--ttl: "${text}": the unit is missing; write ${text}m, ${text}h or ${text}d`);
  const ms = Number(number) * unitMs[unit]!;
  if (ms > ttlMsMax) throw new UsageError(`--ttl: "${text}" is too long; at most 30d`);
  return ms;
}

/** Adds a value of a repeatable option to the values before it. */
export function listed(text: string, before: readonly string[]): string[] {
  return [...before, text];
}

export function revisionNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError(
    `--to: "${text}" is no number of a revision, such as 3; for a list: ${cliCommand('history', 'epl/NAME')}`,
  );
}

/** The URL of a node, without a slash at the end. */
export function serverUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' && url.search === '' && url.hash === '') return url.href.replace(/\/+$/, '');
  throw new UsageError(`--server: "${text}" is no URL of a node; write https://HOST:PORT`);
}

export function byteCount(text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new UsageError(`--bytes: "${text}" must be a whole number from 0 to 9999999999`);
}

export function seconds(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new UsageError(`--timeout: "${text}" is not a number of seconds above 0`);
  return value;
}

/** Splits an argument such as `deployment/till`. */
export function kindAndName(text: string, form: string): readonly [string, string] {
  const [kind = '', name = '', ...more] = text.split('/');
  if (kind !== '' && name !== '' && more.length === 0) return [kind, name];
  throw new UsageError(`"${text}" is not of the form ${form}`);
}

export interface ObjectOfKind {
  readonly kind: string;
  readonly name: string;
}

export function objectOfKind(text: string): ObjectOfKind {
  const [kind, name] = kindAndName(text, 'KIND/NAME, for example deployment/till');
  return { kind, name };
}

/** The name in `epl/guestbook`. */
export function placementName(text: string): string {
  const [kind, name] = text.includes('/') ? kindAndName(text, 'epl/NAME') : ['', text];
  if (['epl', 'edgeplacement', 'edgeplacements'].includes(kind)) return name;
  throw new UsageError(`"${text}" is not of the form epl/NAME; write epl/${name || 'guestbook'}`);
}

/** Checks that a context is a space at its origin, and not the view of a space from above. `field`: where the context comes from. */
export function spaceContext(context: string, field = '--space'): string {
  const [kind, node = '', space = '', ...more] = context.split('/');
  if (kind !== 'space' || node === '' || space === '' || more.length > 0) {
    const remedy = 'name one by --space, such as space/center/retail';
    throw new UsageError(`${field}: "${context}" is no context of a space: ${remedy}`);
  }
  return context;
}

/** Throws UsageError for the view of a space. A relay shows a space from above under a name with dots: `center.retail` at `space/eu/center.retail`. */
export function checkOrigin(context: string): void {
  const [, , space = ''] = context.split('/');
  const dot = space.lastIndexOf('.');
  if (dot < 0) return;
  const origin = `space/${space.slice(0, dot).replaceAll('.', ':')}/${space.slice(dot + 1)}`;
  throw new UsageError(`--space: "${context}" shows what comes from ${origin}: ask with --space ${origin}`);
}

/** The remedy for a name that does not exist. */
export function didYouMean(word: string, candidates: readonly string[], otherwise: string): string {
  const near = suggest(word, candidates);
  return near === undefined ? otherwise : `did you mean "${near}"?`;
}
