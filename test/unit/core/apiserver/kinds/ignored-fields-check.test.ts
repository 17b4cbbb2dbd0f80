import { expect, test } from 'vitest';
import { checkIgnoredFields } from '../../../../../core/apiserver/kinds/ignored-fields-check.ts';

const messages = (...paths: string[]) => checkIgnoredFields(paths).map(({ field, message }) => `${field}: ${message}`);

test('paths to one field of the content are accepted', () => {
  expect(
    messages('.spec.replicas', ".spec.containers[?(@.name=='till')].image", '.data', ".metadata.annotations['a.b/c']"),
  ).toEqual([]);
  expect(checkIgnoredFields(undefined)).toEqual([]);
});

test('others are refused with the field and what to write', () => {
  expect(messages('.spec.replicas', 'spec..x', '.spec.list[*].a', '.spec.list[0]', '.metadata.name', '.kind')).toEqual([
    expect.stringMatching(/ignoredFields\[1\]: .*write a JSONPath/),
    expect.stringMatching(/ignoredFields\[2\]: .*leads to many/),
    expect.stringMatching(/ignoredFields\[3\]: .*end with the name of a field/),
    expect.stringMatching(/ignoredFields\[4\]: .*identifies the object/),
    expect.stringMatching(/ignoredFields\[5\]: .*identifies the object/),
  ]);
});
