/** Checks the arguments of the command line, before a command asks a tree. Each check throws UsageError with the field, the value and a remedy. */
import { checkPath, pathShownAs, segmentsOf } from '../../core/identity/node-path.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import { suggest } from '../../core/runtime/suggest.ts';
import { UsageError } from './usage-error.ts';

/** Reads the path of a node, or of one replica such as `eu~1`. `center` is the root. */
export function nodePath(text: string): string {
  const path = pathShownAs(text);
  if (path === '' && text !== '') return path;
  const problem = checkPath(
    segmentsOf(path)
      .map((name) => splitReplica(name).name)
      .join(':'),
  );
  if (problem) throw new UsageError(`"${text}" is no path of a node, such as eu:paris or center: ${problem}`);
  return path;
}

export function byteCount(text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new UsageError(`--bytes: "${text}" is not a number of bytes, at most 9999999999`);
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

/** Checks that a context is a space at its origin, and not the view of a space from above. `given` is the value of --space. */
export function spaceContext(given: string | undefined, current: string): string {
  const context = given ?? current;
  const field = given === undefined ? 'the current context of the kubeconfig' : '--space';
  const [kind, node = '', space = '', ...more] = context.split('/');
  if (kind !== 'space' || node === '' || space === '' || more.length > 0) {
    const remedy = 'name one by --space, such as space/center/retail';
    throw new UsageError(`${field}: "${context}" is no context of a space: ${remedy}`);
  }
  return context;
}

/** The remedy for a name that does not exist. */
export function didYouMean(word: string, candidates: readonly string[], otherwise: string): string {
  const near = suggest(word, candidates);
  return near === undefined ? otherwise : `did you mean "${near}"?`;
}
