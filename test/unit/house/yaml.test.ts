import { expect, it } from 'vitest';
import { sources } from './imports.ts';

/** The readers of YAML. Each checks the bounds of a text before the library, which takes minutes for 3 MB of brackets, sees the text. */
const readers = ['core/apiserver/http/yaml-body.ts', 'core/runtime/yaml-text.ts'];

it('only the readers with bounds parse YAML', () => {
  const parsers = [...sources()].filter(([, text]) =>
    [...text.matchAll(/import \{([^}]*)\} from 'yaml'/g)].some(([, names = '']) => /\bparse/.test(names)),
  );
  expect(parsers.map(([file]) => file)).toEqual(readers);
});
