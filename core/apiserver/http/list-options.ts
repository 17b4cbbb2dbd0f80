/** The parameters of a list or a watch that do not fit together, with the causes of kube-apiserver in its order. */
import { forbiddenField, notSupported } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import { integerOf, resourceVersionOf } from './requests.ts';
import { invalidOption } from './write-options.ts';

/** Throws Invalid. */
export function checkListOptions(query: URLSearchParams, isWatch: boolean): void {
  const causes = isWatch ? watchMistakes(query) : listMistakes(query);
  if (causes.length > 0) throw invalidOption('ListOptions', ...causes);
}

const field = 'resourceVersionMatch';
const withContinue = `${field} is forbidden when continue is provided`;

function listMistakes(query: URLSearchParams): Cause[] {
  const match = query.get(field) ?? '';
  const revision = query.get('resourceVersion') ?? '';
  const causes: Cause[] = [];
  if (match !== '') {
    if (revision === '') causes.push(forbiddenField(field, `${field} is forbidden unless resourceVersion is provided`));
    if (query.get('continue')) causes.push(forbiddenField(field, withContinue));
    if (match !== 'Exact' && match !== 'NotOlderThan')
      causes.push(notSupported(field, match, ['Exact', 'NotOlderThan', '']));
    if (match === 'Exact' && revision === '0')
      causes.push(forbiddenField(field, `${field} "exact" is forbidden for resourceVersion "0"`));
  }
  if (query.has('sendInitialEvents'))
    causes.push(forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  return causes;
}

function watchMistakes(query: URLSearchParams): Cause[] {
  const match = query.get(field) ?? '';
  const isInitial = query.has('sendInitialEvents');
  const causes: Cause[] = [];
  if (isInitial && match !== 'NotOlderThan')
    causes.push(forbiddenField(field, `sendInitialEvents requires setting ${field} to NotOlderThan`));
  if (match !== '' && !isInitial)
    causes.push(forbiddenField(field, `${field} is forbidden for watch unless sendInitialEvents is provided`));
  if (match !== '' && match !== 'NotOlderThan') causes.push(notSupported(field, match, ['NotOlderThan']));
  if (query.get('continue')) causes.push(forbiddenField(field, withContinue));
  return causes;
}

/** The revision that a list has to show. Undefined: the newest one, or that of its first page. Of the first page, Kubernetes takes a revision as exact. */
export function exactRevision(query: URLSearchParams): number | undefined {
  const match = query.get(field) ?? '';
  const isExact = match === 'Exact' || (match === '' && integerOf(query, 'limit') > 0);
  const revision = Number(resourceVersionOf(query));
  return isExact && revision > 0 && !query.get('continue') ? revision : undefined;
}
