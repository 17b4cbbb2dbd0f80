import { expect, it } from 'vitest';
import { checkListOptions } from '../../../../../core/apiserver/http/list-options.ts';

const invalid = 'ListOptions.meta.k8s.io "" is invalid: ';
const match = 'resourceVersionMatch: ';

/** The messages of kube-apiserver 1.34 for the same requests. */
it.each([
  ['sendInitialEvents=true', 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list'],
  ['sendInitialEvents=false', 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list'],
  [
    'resourceVersionMatch=Exact',
    `${match}Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided`,
  ],
  [
    'resourceVersionMatch=Foo&resourceVersion=1',
    `${match}Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""`,
  ],
  [
    'resourceVersionMatch=Exact&resourceVersion=0',
    `${match}Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`,
  ],
  [
    'limit=1&continue=abc&resourceVersionMatch=Exact',
    `[${match}Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, ${match}Forbidden: resourceVersionMatch is forbidden when continue is provided]`,
  ],
  [
    'watch=1&sendInitialEvents=false',
    `${match}Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan`,
  ],
  [
    'watch=1&sendInitialEvents=true&resourceVersionMatch=Exact',
    `[${match}Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, ${match}Unsupported value: "Exact": supported values: "NotOlderThan"]`,
  ],
  [
    'watch=1&resourceVersionMatch=NotOlderThan',
    `${match}Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided`,
  ],
  ['watch=1&continue=abc', `${match}Forbidden: resourceVersionMatch is forbidden when continue is provided`],
])('%s is refused with %s', (text, message) => {
  const query = new URLSearchParams(text);
  expect(() => checkListOptions(query, query.has('watch'))).toThrow(`${invalid}${message}`);
});

it.each([
  '',
  'resourceVersionMatch=NotOlderThan&resourceVersion=0',
  'resourceVersionMatch=Exact&resourceVersion=7',
  'limit=1&continue=abc&resourceVersion=5',
  'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
  'watch=1&limit=1',
])('%s is accepted', (text) => {
  const query = new URLSearchParams(text);
  checkListOptions(query, query.has('watch'));
});
