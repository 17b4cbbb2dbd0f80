/** Whether one rule of a role allows a request. */
import { type AccessAttributes, isForResource } from './attributes.ts';
import type { PolicyRule } from './rbac-objects.ts';
import { fullResource } from './refusal.ts';

const everything = '*';

export function ruleAllows(rule: PolicyRule, attributes: AccessAttributes): boolean {
  if (!includes(rule.verbs, attributes.verb)) return false;
  if (!isForResource(attributes)) return (rule.nonResourceURLs ?? []).some((url) => urlIncludes(url, attributes.path));
  return (
    includes(rule.apiGroups, attributes.apiGroup) &&
    namesFullResource(rule.resources, fullResource(attributes), attributes.subresource) &&
    includesName(rule.resourceNames, attributes.name)
  );
}

/** `/healthz/*` includes everything that begins with `/healthz/`. A star elsewhere in the text is an ordinary character. */
export function urlIncludes(url: string, path: string): boolean {
  return url === path || (url.endsWith(everything) && path.startsWith(withoutStars(url)));
}

/** Without the stars at its end. An expression would begin anew at each star of a long text. */
function withoutStars(url: string): string {
  let end = url.length;
  while (url[end - 1] === everything) end -= 1;
  return url.slice(0, end);
}

/** A star in the list stands for all texts. */
export function includes(list: readonly string[] | undefined, text: string): boolean {
  return (list ?? []).some((item) => item === everything || item === text);
}

/** The resource `*` includes all subresources, `pods` includes none. A star before a slash stands for all resources. */
function namesFullResource(list: readonly string[] | undefined, full: string, subresource: string): boolean {
  return includes(list, full) || (subresource !== '' && (list ?? []).includes(`*/${subresource}`));
}

/** A create, a list and the deletion of a collection have no name. So a rule with names does not allow them. */
function includesName(names: readonly string[] | undefined, name: string): boolean {
  return !names || names.length === 0 || names.includes(name);
}
