/**
 * The name to which a field selector limits a request. With `metadata.name=x`, kube-apiserver treats a list as a request for the object `x`, so a rule
 * with resourceNames can allow the list.
 */

const operator = /!=|==|=/;

/**
 * The name that `metadata.name` must equal. Empty if the selector allows several names, or if the selector is malformed: the request then has no name, and
 * a request without a name needs more rights.
 */
export function selectedName(fieldSelector: string): string {
  let found: string | undefined;
  for (const term of termsOf(fieldSelector)) {
    if (term === '') continue;
    const split = operator.exec(term);
    if (!split) return '';
    const value = unescapeValue(term.slice(split.index + split[0].length));
    if (value === undefined) return '';
    if (split[0] !== '!=' && term.slice(0, split.index) === 'metadata.name') found ??= value;
  }
  return found !== undefined && isPathSegment(found) ? found : '';
}

/** Splits at commas. A backslash takes the special meaning from the character behind it. */
function termsOf(selector: string): string[] {
  const terms = [''];
  for (const [part] of selector.matchAll(/\\[\s\S]?|,|[^\\,]+/g)) {
    if (part === ',') terms.push('');
    else terms[terms.length - 1] += part;
  }
  return terms;
}

/** Undefined if the value has an escape that does not exist, or a special character without an escape. */
function unescapeValue(text: string): string | undefined {
  return /^(?:\\[\\,=]|[^\\,=])*$/.test(text) ? text.replaceAll(/\\([\\,=])/g, '$1') : undefined;
}

/** Whether the name could be in the path of a URL. */
function isPathSegment(name: string): boolean {
  return name !== '.' && name !== '..' && !/[/%]/.test(name);
}
