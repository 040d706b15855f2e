import type { Choice, Field } from './kinds.ts';
import { initial, problemOf } from './setup.ts';

type Kinds = Readonly<
  Record<string, { readonly title: string; readonly fields: readonly Field[] }>
>;

type Children = readonly (Node | string)[];

/** An element with attributes and children. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  children: Children = [],
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

let ids = 0;

/** A labelled number; calls `onChange` with each valid value. */
export function numberInput(
  field: Field,
  value: number,
  onChange: (value: number) => void,
): HTMLElement {
  const id = `number-${ids++}`;
  const input = element('input', {
    id,
    type: 'number',
    min: `${field.min}`,
    max: `${field.max}`,
    step: 'any',
    value: `${value}`,
    inputmode: 'decimal',
    'aria-describedby': `${id}-unit ${id}-problem`,
  });
  const problem = element('span', { id: `${id}-problem`, class: 'problem', role: 'alert' });
  input.addEventListener('change', () => {
    const next = input.value === '' ? Number.NaN : Number(input.value);
    const found = problemOf(field, next);
    input.setAttribute('aria-invalid', `${found !== undefined}`);
    problem.textContent = found ?? '';
    if (found === undefined) onChange(next);
  });
  return element('div', { class: 'field' }, [
    element('label', { for: id }, [field.label]),
    input,
    element('span', { id: `${id}-unit`, class: 'unit' }, [field.unit]),
    problem,
  ]);
}

/** A kind and its numbers; calls `onChange` with each valid choice. */
export function choiceForm(
  name: string,
  kinds: Kinds,
  first: Choice,
  onChange: (choice: Choice) => void,
): HTMLElement {
  const id = `choice-${ids++}`;
  const select = element('select', { id });
  for (const [kind, { title }] of Object.entries(kinds)) {
    select.append(element('option', { value: kind }, [title]));
  }
  const fields = element('div', { class: 'fields' });
  let choice = first;
  const fill = () => {
    select.value = choice.kind;
    const inputs = (kinds[choice.kind]?.fields ?? []).map((field) =>
      numberInput(field, choice.numbers[field.name] ?? field.initial, (value) => {
        choice = { ...choice, numbers: { ...choice.numbers, [field.name]: value } };
        onChange(choice);
      }),
    );
    fields.replaceChildren(...inputs);
  };
  select.addEventListener('change', () => {
    choice = initial(kinds, select.value);
    fill();
    onChange(choice);
  });
  fill();
  const label = element('label', { for: id, class: 'name' }, [name]);
  return element('div', { class: 'choice' }, [label, select, fields]);
}

/** A named value of a `dl`. */
export function figure(name: string, value: string): HTMLElement {
  return element('div', {}, [element('dt', {}, [name]), element('dd', {}, [value])]);
}

/** A button that does something. */
export function button(text: string, label: string, onClick: () => void): HTMLButtonElement {
  const made = element('button', { type: 'button', 'aria-label': label }, [text]);
  made.addEventListener('click', onClick);
  return made;
}
