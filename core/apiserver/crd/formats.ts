/**
 * The string formats that the Kubernetes API server checks (go-openapi/strfmt, only formats that structural schemas may use). Any other format is only a
 * description.
 */
import { isIP, isIPv4, isIPv6 } from 'node:net';
import { isDate, isDateTime } from '../../object/date-formats.ts';

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** The expression can match each text in only one way. So a long text that does not match costs no extra time. */
const duration = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
const email = /^[^\s@<>,;:"()[\]\\]{1,64}@[^\s@<>,;:"()[\]\\]{1,255}$/;
const hostnameLabel = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
const mac = /^(?:[0-9a-f]{2}([:-]))(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}$/i;

const checks: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['date-time', isDateTime],
  ['datetime', isDateTime],
  ['date', isDate],
  ['duration', (text: string) => duration.test(text)],
  ['byte', (text: string) => base64.test(text)],
  ['uuid', (text: string) => uuid.test(text)],
  ['uuid3', (text: string) => uuid.test(text)],
  ['uuid4', (text: string) => uuid.test(text)],
  ['uuid5', (text: string) => uuid.test(text)],
  ['email', (text: string) => email.test(text)],
  ['hostname', isHostname],
  ['ipv4', isIPv4],
  ['ipv6', isIPv6],
  ['cidr', isCidr],
  ['uri', isUri],
  ['mac', (text: string) => mac.test(text)],
]);

/** Undefined if this code does not check the format. */
export function formatCheck(format: string): ((text: string) => boolean) | undefined {
  return checks.get(format);
}

function isHostname(text: string): boolean {
  return text.length <= 253 && text.split('.').every((label) => hostnameLabel.test(label));
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/');
  const family = isIP(address);
  return rest.length === 0 && family !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}

/** True for an absolute URI or an absolute path, like Go's url.ParseRequestURI. */
function isUri(text: string): boolean {
  return text.startsWith('/') ? !/\s/.test(text) : URL.canParse(text);
}
